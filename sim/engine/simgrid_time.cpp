// SimGrid's clock and flows. Its timers call us, its completion callbacks tell which flows have ended, and
// one actor runs the workers.
#include <fmt/format.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>

#include "sim/base/instants.hpp"
#include "sim/engine/platform.hpp"
#include "sim/engine/time_keeper.hpp"

namespace simsgd {

namespace {

namespace s4u = simgrid::s4u;

// SimGrid has found that nothing is left to happen.
struct NothingLeft {};

class SimGridTime final : public TimeKeeper {
 public:
  SimGridTime(const Cluster& cluster, Calls calls)
      : cluster_(cluster),
        calls_(std::move(calls)),
        engine_(*make_engine().release()),  // SimGrid's statics refer to it
        platform_(build_platform(cluster.network)),
        share_of_link_(cluster.network.links.size(), 1.0),
        woken_(s4u::Semaphore::create(0)) {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) {
      const auto* comm = dynamic_cast<const s4u::Comm*>(&activity);
      if (!comm) return;
      finished_.emplace_back(comm->get_data<UnderWay>());
      clock_s_ = s4u::Engine::get_clock();
      calls_.ended(finished_.back()->number);
    });
    s4u::Engine::on_time_advance_cb([this](double) {
      follow_clock();
      finished_.clear();
    });
    s4u::Engine::on_deadlock_cb([] { throw NothingLeft(); });
  }

  void armed() override {
    if (timer_) timer_->remove();
    timer_ = simgrid::kernel::timer::Timer::set(armed_s_, [this] {
      timer_ = nullptr;  // SimGrid deletes it
      armed_s_ = kNever;
      clock_s_ = s4u::Engine::get_clock();
      calls_.serve();
      if (fibers_ && fibers_->any_ready()) woken_->release();
    });
  }

  void start(const Flow& flow) override {
    const auto host = [this](int rank) {
      return platform_
          .hosts[static_cast<std::size_t>(cluster_.endpoint_of_rank[static_cast<std::size_t>(rank)])];
    };
    auto* under_way = new UnderWay{
        // owned by `finished_` once it has ended
        s4u::Comm::sendto_init(host(flow.from_rank), host(flow.to_rank))
            ->set_payload_size(static_cast<std::uint64_t>(std::llround(flow.bytes * kUnitsPerByte))),
        flow.number};
    under_way->comm->set_data(under_way);
    if (slow_links_ > 0)
      start_unbounded(*under_way->comm, flow.path);
    else
      under_way->comm->start();
  }

  void set_bandwidth_share(LinkId link, double share) override {
    double& now = share_of_link_[static_cast<std::size_t>(link)];
    slow_links_ += (share < 1 ? 1 : 0) - (now < 1 ? 1 : 0);
    now = share;
    set_bandwidth(link, share);
  }

  void run(Fibers* fibers) override {
    fibers_ = fibers;
    if (fibers)
      s4u::Actor::create("workers", platform_.hosts.front(), [this] {
        while (true) {
          clock_s_ = s4u::Engine::get_clock();
          fibers_->run();
          woken_->acquire();
        }
      });
    try {
      engine_.run();
    } catch (const NothingLeft&) {
    }
  }

 private:
  struct UnderWay {
    s4u::CommPtr comm;
    std::uint32_t number = 0;
  };
  void set_bandwidth(LinkId link, double share) {
    const auto id = static_cast<std::size_t>(link);
    platform_.links[id]->set_bandwidth(cluster_.network.links[id].bandwidth_Bps * kUnitsPerByte * share);
  }

  // SimGrid 3.32 never lets a flow be faster than the narrowest of its links was when it started (TCP-gamma 0
  // lifts that bound only where there is a latency): links that are slow now are whole for this moment.
  void start_unbounded(s4u::Comm& comm, std::span<const LinkId> path) {
    const auto share = [this](LinkId id) { return share_of_link_[static_cast<std::size_t>(id)]; };
    for (const LinkId id : path)
      if (share(id) != 1) set_bandwidth(id, 1);
    comm.start();
    for (const LinkId id : path)
      if (share(id) != 1) set_bandwidth(id, share(id));
  }

  // SimGrid ends what ends within an absolute time of its clock (`surf/precision`) together. It is made the
  // margin of one instant, so that it means the same in microseconds and in days; a step of the clock by many
  // orders of magnitude may leave a flow that has ended behind by one rounding, and SimGrid looks again.
  void follow_clock() {
    const double clock_s = clock_s_ = s4u::Engine::get_clock();
    if (clock_s < 2 * followed_s_ || clock_s == 0) return;
    followed_s_ = clock_s;
    s4u::Engine::set_config(
        fmt::format("surf/precision:{:.3e}",
                    std::max(clock_s * kSameInstant, 1e-300)));  // SimGrid reads no subnormal number
    simgrid::kernel::timer::Timer::set(std::nextafter(clock_s, kNever), [] {});
  }

  const Cluster& cluster_;
  Calls calls_;
  s4u::Engine& engine_;
  Platform platform_;
  std::vector<double> share_of_link_;
  int slow_links_ = 0;  // whose share is below 1
  s4u::SemaphorePtr woken_;
  Fibers* fibers_ = nullptr;
  simgrid::kernel::timer::Timer* timer_ = nullptr;  // at the next thing on the agenda
  double followed_s_ = 0;                           // the clock that SimGrid's precision was made for
  std::vector<std::unique_ptr<UnderWay>>
      finished_;  // released outside SimGrid's callbacks: 3.32 frees too early
};

}  // namespace

std::unique_ptr<TimeKeeper> make_simgrid_time(const Cluster& cluster, TimeKeeper::Calls calls) {
  return std::make_unique<SimGridTime>(cluster, std::move(calls));
}

}  // namespace simsgd

// SimGrid's timers call us, its completion callbacks tell which flows have ended, and one actor runs the
// workers. One zone of our own routes by the network's rule. Links carry bandwidth only: every message pays
// its latency on a timer before its flow starts (Transport).

#include <fmt/format.h>
#include <signal.h>

#include <simgrid/s4u.hpp>  // first: the headers below need it

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/instants.hpp"
#include "sim/engine/time_keeper.hpp"

namespace simsgd {

namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

struct Platform {
  std::vector<s4u::Host*> hosts;  // one per endpoint
  std::vector<s4u::Link*> links;  // by LinkId
};

// A zone that asks the Network for the links between two endpoints.
class NetworkZone final : public routing::NetZoneImpl {
 public:
  explicit NetworkZone(const Network& network) : NetZoneImpl("cluster"), route_(network.route) {}

  Platform fill(const Network& network) {
    Platform made;
    for (int i = 0; i < network.endpoints; ++i) {
      made.hosts.push_back(create_host(fmt::format("gpu{}", i), {1e9}));
      const std::size_t netpoint = made.hosts.back()->get_netpoint()->id();
      endpoint_of_netpoint_.resize(netpoint + 1, -1);
      endpoint_of_netpoint_[netpoint] = i;
    }
    for (std::size_t id = 0; id < network.links.size(); ++id) {
      const Link& link = network.links[id];
      made.links.push_back(
          create_link(fmt::format("{}#{}", link.name, id), {link.bandwidth_Bps * kUnitsPerByte}));
      made.links.back()->set_latency(0);
      links_.push_back(made.links.back()->get_impl());
    }
    return made;
  }

 private:
  void get_local_route(const routing::NetPoint* source, const routing::NetPoint* destination,
                       routing::Route* into, double* /*latency*/) override {
    path_.clear();
    route_(endpoint_of_netpoint_[source->id()], endpoint_of_netpoint_[destination->id()], path_);
    for (const LinkId id : path_) into->link_list_.push_back(links_[static_cast<std::size_t>(id)]);
  }

  std::function<void(int, int, std::vector<LinkId>&)> route_;
  std::vector<int> endpoint_of_netpoint_;
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> links_;
  std::vector<LinkId> path_;
};

// With the settings that make it exact. One per process, ever.
std::unique_ptr<s4u::Engine> make_engine() {
  static bool made = false;
  CHECK(!made, "one process simulates one scenario: SimGrid 3.32 leaks its clock into a second engine");
  made = true;
  // SimGrid keeps pointers into the arguments.
  static std::vector<std::string> words = {"simsgd", "--log=xbt_cfg.thres:warning",
                                           "--log=root.thres:critical",
                                           // Its words on a deadlock; ours say more (Simulation::deadlock).
                                           "--log=ker_engine.app:file:/dev/null", "--log=ker_engine.add:0",
                                           fmt::format("--cfg=contexts/stack-size:{}", kStackBytes / 1024)};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  words.push_back("--cfg=contexts/factory:thread");  // sanitizers lose their way where a stack is swapped
#endif
  static std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  // SimGrid's own answer to Ctrl-C is exit(), from wherever a thread stands: who called us keeps theirs.
  struct sigaction interrupt = {};
  sigaction(SIGINT, nullptr, &interrupt);
  auto engine = std::make_unique<s4u::Engine>(&count, arguments.data());
  sigaction(SIGINT, &interrupt, nullptr);
  // The precision of a clock at 0, which is raised as time goes on.
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "surf/precision:1e-300"})
    s4u::Engine::set_config(setting);
  return engine;
}

Platform build_platform(const Network& network) {
  auto* zone = new NetworkZone(network);  // owned by SimGrid's engine from set_parent on
  zone->set_parent(nullptr);
  Platform platform = zone->fill(network);
  zone->seal();
  return platform;
}

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

}  // namespace simsgd

extern "C" simsgd::MakeTimeKeeper simsgd_simgrid_time() {
  return [](const simsgd::Cluster& cluster,
            simsgd::TimeKeeper::Calls calls) -> std::unique_ptr<simsgd::TimeKeeper> {
    return std::make_unique<simsgd::SimGridTime>(cluster, std::move(calls));
  };
}

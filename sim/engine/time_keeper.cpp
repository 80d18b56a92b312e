#include "sim/engine/time_keeper.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/engine/max_min.hpp"

namespace simsgd {

namespace {

std::vector<double> capacities(const Network& network) {
  std::vector<double> all;
  for (const Link& link : network.links) all.push_back(link.bandwidth_Bps);
  return all;
}

class OwnTime final : public TimeKeeper {
 public:
  OwnTime(const Cluster& cluster, Calls calls)
      : network_(cluster.network), calls_(std::move(calls)), flows_(capacities(cluster.network)) {}

  void start(const Flow& flow) override { flows_.start(flow.number, flow.path, flow.bytes, clock_s_); }
  void set_bandwidth_share(LinkId link, double share) override {
    flows_.set_capacity(link, network_.links[static_cast<std::size_t>(link)].bandwidth_Bps * share);
  }

  // What is due at one date: what is on the agenda, then the flows that end, and what comes of them; then
  // workers go on.
  void run(Fibers* fibers) override {
    fibers_ = fibers;
    while (true) {
      if (fibers) fibers->run();
      const double next_s = std::min(armed_s_, flows_.next_end_s(clock_s_));
      if (next_s == kNever) return;
      clock_s_ = std::max(clock_s_, next_s);
      do {
        while (armed_s_ <= clock_s_) {
          armed_s_ = kNever;
          calls_.serve();
        }
        ended_.clear();
        flows_.take_ended(clock_s_, ended_);
        for (const std::uint32_t flow : ended_) calls_.ended(flow);
      } while (!ended_.empty());
    }
  }
  bool fibers_wait() const override { return !fibers_ || !fibers_->any_ready(); }
  bool tick(double instant_s) override {
    if (!fibers_wait() || flows_.may_end_by(instant_s)) return false;
    clock_s_ = std::nextafter(clock_s_, kNever);
    return true;
  }

 private:
  const Network& network_;
  Calls calls_;
  MaxMin flows_;
  const Fibers* fibers_ = nullptr;
  std::vector<std::uint32_t> ended_;
};

}  // namespace

std::unique_ptr<TimeKeeper> own_time(const Cluster& cluster, TimeKeeper::Calls calls) {
  return std::make_unique<OwnTime>(cluster, std::move(calls));
}

}  // namespace simsgd

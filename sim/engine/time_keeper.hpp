// What moves simulated time from one instant to the next, and the flows that share links meanwhile.
// `own_time` is a loop over the agenda, flows by MaxMin and workers as fibers; tests compare it with one of
// SimGrid's clock and SimGrid's flows.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/fibers.hpp"

namespace simsgd {

class TimeKeeper {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Calls {
    std::function<void()> serve;               ///< the armed date has come
    std::function<void(std::uint32_t)> ended;  ///< a flow has
  };
  struct Flow {
    std::uint32_t number = 0;  ///< small, and of no other flow that is under way
    int from_rank = 0, to_rank = 0;
    std::span<const LinkId> path;
    double bytes = 0;  ///< a multiple of 2^-20
  };
  virtual ~TimeKeeper() = default;

  double clock_s() const { return clock_s_; }
  /// Calls `serve` once when the clock is at `date_s`, or at an earlier date that was armed and not served.
  void arm(double date_s) {
    if (date_s >= armed_s_) return;
    armed_s_ = date_s;
    armed();
  }
  virtual void start(const Flow& flow) = 0;
  /// From now on the link has this share of its bandwidth.
  virtual void set_bandwidth_share(LinkId link, double share) = 0;
  /// Until nothing is left to happen. `fibers` run when all that is due has been served; may be null.
  virtual void run(Fibers* fibers) = 0;
  /// Nothing happens but what is armed and what flows: no fiber is ready. False where that is not known.
  virtual bool fibers_wait() const { return false; }
  /// Where nothing ends at that instant and no fiber is ready: the next number is on the clock. False where
  /// something may be, or that is not known.
  virtual bool tick(double /*instant_s*/) { return false; }

 protected:
  virtual void armed() {}  ///< armed_s_ has become earlier
  double clock_s_ = 0, armed_s_ = kNever;
};

using MakeTimeKeeper = std::unique_ptr<TimeKeeper> (*)(const Cluster& cluster, TimeKeeper::Calls calls);
std::unique_ptr<TimeKeeper> own_time(const Cluster& cluster, TimeKeeper::Calls calls);

/// Bytes flow in units of 2^-20: SimGrid counts whole ones, and a P-th of a message is not one.
inline constexpr double kUnitsPerByte = 1048576.0;

}  // namespace simsgd

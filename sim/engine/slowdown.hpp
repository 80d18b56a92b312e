// Communication that slows computing: while a collective is in progress on a device (its copies and
// reductions take memory bandwidth, PCIe and multiprocessors), computing takes 1 + s times as long, s the
// device's `communication_slowdown`.
//
// Decided by each worker alone and at once, without events: an operation is taken to occupy the worker's
// channel for its predicted duration (all members arriving together, nothing else on the network) from the
// moment it is started there and the channel is free. A stretch of computing that begins at t therefore meets
// operations without a gap from t to the last predicted end. Gradients of start_gradient and point-to-point
// messages are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/record.hpp"

namespace simsgd {

class Slowdown {
 public:
  explicit Slowdown(double slowdown) : slowdown_(slowdown) {}

  struct Started {
    std::int32_t channel = 0;
    double at_s = 0;
    double seconds = 0;  ///< predicted
    Traffic traffic = Traffic::control;
    double begin_s = 0;  ///< not before
  };
  void started(const Started& operation);

  bool active() const { return slowdown_ > 0; }
  bool felt_at(double time_s) const { return !spans_.empty() && spans_.back().end_s > time_s; }

  /// When `work_s` of computing that begin at `from_s` end. `added` is called with what each kind of traffic
  /// added to them. Times of calls do not decrease.
  double end_of(double from_s, double work_s, const std::function<void(Traffic, double)>& added);

 private:
  struct Span {
    double end_s = 0;
    Traffic traffic = Traffic::control;
    double begin_s = 0;
  };
  double slowdown_;
  std::vector<double> channel_free_s_;
  std::vector<Span> spans_;  // one after another; few
};

}  // namespace simsgd

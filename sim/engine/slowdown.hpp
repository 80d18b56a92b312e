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

#include <algorithm>
#include <cstdint>
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
  template <class Added>
  double end_of(double from_s, double work_s, const Added& added) const;

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

template <class Added>
double Slowdown::end_of(double from_s, double work_s, const Added& added) const {
  double now_s = from_s;
  for (const Span& span : spans_) {
    if (work_s <= 0) break;
    if (span.end_s <= now_s) continue;
    if (span.begin_s > now_s) {
      const double free_s = std::min(work_s, span.begin_s - now_s);
      now_s += free_s;
      work_s -= free_s;
      if (work_s <= 0) break;
    }
    const double done_s = std::min(work_s, (span.end_s - now_s) / (1 + slowdown_));
    added(span.traffic, done_s * slowdown_);
    now_s = done_s < work_s ? span.end_s : now_s + done_s * (1 + slowdown_);
    work_s -= done_s;
  }
  return now_s + std::max(0.0, work_s);
}

}  // namespace simsgd

// Computing that slows communication: while a GPU computes, its own links carry this share of their bandwidth
// (the device's `communication_share`; Network::gpu_beside). NCCL's kernels wait for multiprocessors, and
// copies and reductions for PCIe and memory bandwidth, that the backward pass uses.
//
// A worker says when it computes, also in its own future; the links change at the two ends of each stretch,
// whatever crosses them then. So it holds for simulated flows: collectives at `flows` and
// `messages`, and all messages from rank to rank (tests/engine/interference.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/transport.hpp"
#include "sim/record.hpp"

namespace simsgd {

class Interference {
 public:
  Interference(const Cluster& cluster, Transport& transport);

  /// The device of `rank` computes in [from_s, to_s]: from now on where that has begun. Stretches come in
  /// order.
  void computes(int rank, double from_s, double to_s) {
    if (!gpus_.empty()) add(rank, from_s, to_s);
  }
  /// It does not compute after `at_s`, whatever was said.
  void stops(int rank, double at_s);

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Stretch {
    double begin_s = 0, end_s = 0;
  };
  struct SlowLink {
    LinkId link = 0;
    double share = 1;  // while the GPU computes
  };
  struct Gpu {
    std::vector<SlowLink> links;
    std::deque<Stretch> stretches;  // apart from each other, ascending; none has ended
    double armed_s = kNever;        // when the next of its events is
    bool computes = false;          // and its links are slow
  };
  void add(int rank, double from_s, double to_s);
  void advance(int rank);
  void arm(int rank);

  Transport& transport_;
  std::vector<Gpu> gpus_;  // by rank; empty: nothing interferes
};

// Communication that slows computing: while a collective is in progress on a device (its copies and
// reductions take memory bandwidth, PCIe and multiprocessors), computing takes 1 + s times as long, s the
// device's `communication_slowdown`.
//
// Decided by each worker alone and at once, without events: an operation is taken to occupy the worker's
// channel for its predicted duration (all members arriving together, nothing else on the network) from the
// moment it is started there and the channel is free. A stretch of computing that begins at t therefore meets
// operations without a gap from t to the last predicted end. Gradients of start_gradient and point-to-point
// messages are left out.

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

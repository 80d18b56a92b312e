// Computing that slows communication: while a GPU computes, its own links carry this share of their bandwidth
// (the device's `communication_share`; Network::gpu_beside). NCCL's kernels wait for multiprocessors, and
// copies and reductions for PCIe and memory bandwidth, that the backward pass uses.
//
// A worker says when it computes, also in its own future; the links change at the two ends of each stretch,
// whatever crosses them then. So it holds for simulated flows: collectives at `flows` and
// `messages`, and all messages from rank to rank (tests/engine/interference.cpp).
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/transport.hpp"

namespace simsgd {

class Interference {
 public:
  Interference(const Cluster& cluster, Transport& transport);

  /// The device of `rank` computes in [from_s, to_s]: from now on where that has begun. Stretches come in
  /// order.
  void computes(int rank, double from_s, double to_s);
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
  void advance(int rank);
  void arm(int rank);

  Transport& transport_;
  std::vector<Gpu> gpus_;  // by rank; empty: nothing interferes
};

}  // namespace simsgd

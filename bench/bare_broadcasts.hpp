// Broadcasts to all workers, a power of two, on links that are equal: the parts of a vector go down a
// binomial tree and then around a ring.
#pragma once

#include <vector>

#include "bench/bare_loop.hpp"
#include "sim/job.hpp"

namespace simsgd::bench {

class BareBroadcasts {
 public:
  explicit BareBroadcasts(const Job& job);

  /// When everybody has it, of whom each comes at a time of its own; no broadcast begins before the last one
  /// has ended. The ring's messages of a worker are one, which begins when all workers have got their part.
  double end_s(std::uint32_t root, double bytes, const std::vector<double>& came_s);

  /// What that takes where all come together, and what an all-reduce around the ring does.
  double predicted_s(double bytes) const;
  double all_reduce_s(double bytes, int tensors) const;

 private:
  const HostCosts& host_;
  BareLoop loop_;
  std::uint32_t workers_;
  double alpha_s_ = 0, beta_s_per_byte_ = 0;       // of a message that meets none
  std::vector<std::vector<std::uint32_t>> paths_;  // to the worker at distance 2^i, by i and sender
};

}  // namespace simsgd::bench

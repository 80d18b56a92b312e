// What every rank does in every step, where that is all it does: it computes a gradient, starts an all-reduce
// of each part of it as soon as that is ready, waits for all of them and updates. A machine that knows it may
// go through the ranks of a step one after another, without a thread or a fiber for each.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/algorithm.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

struct Lockstep {
  /// Without contributions; of all ranks, one after another on one channel. At least one.
  std::vector<AllReduce> sums;
  /// Of each: the place in Workload::tensors of the tensor whose gradient it waits for, ascending.
  std::vector<std::size_t> ready_at;
};

/// A method that says so of itself: `run` does what `lockstep` describes.
class LockstepAlgorithm : public Algorithm {
 public:
  virtual const Lockstep& lockstep() const = 0;
};

/// Null where the algorithm does not say so.
inline const Lockstep* lockstep_of(const Algorithm& algorithm) {
  const auto* described = dynamic_cast<const LockstepAlgorithm*>(&algorithm);
  return described ? &described->lockstep() : nullptr;
}

}  // namespace simsgd

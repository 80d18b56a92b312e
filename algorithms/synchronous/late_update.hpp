// An update that the forward pass after its step completes: what is evaluated after step k is the model
// before that step's update.
#pragma once

#include "sim/worker.hpp"

namespace simsgd {

/// By the optimizer, at the learning rate of `step`. Nothing without a gradient.
inline void apply_late(Worker& worker, std::uint64_t step, const Tensor& gradient) {
  if (!gradient) return;
  Replica& replica = worker.replica();
  replica.restore(replica.optimizer().step(worker.executor(), step, replica.state(), gradient));
}

}  // namespace simsgd

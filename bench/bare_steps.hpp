// Steps of synchronous SGD as one would write them for this alone: one pass over an array of times for what
// each worker computes, one for each all-reduce.
#pragma once

#include "sim/job.hpp"

namespace simsgd::bench {

/// When the last worker has ended its last step. For jobs in which all do the same (sim/roles/lockstep.hpp),
/// at `closed` or `steps`, without crashes, jitter or an optimizer that takes time of its own.
double bare_steps_s(const Job& job);

}  // namespace simsgd::bench

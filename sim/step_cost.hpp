// How long a worker computes in a step, beside its workload: the same in the simulation and in a real run
// that sleeps through it.
#pragma once

#include <cstdint>

namespace simsgd {

struct Device;
struct Job;
struct OptimizerSpec;

struct StepCost {
  double delay_s = 0;   ///< stragglers, before computing
  double scale = 1;     ///< time of each layer: compute factor and speed of the node
  double straggle = 1;  ///< slow-down by stragglers
};

/// A part of a step: all of it is {rank, step, 0, 1}.
struct StepPart {
  int rank = 0;
  std::uint64_t step = 1;  ///< from 1
  std::uint32_t index = 0, of = 1;
};

/// `nominal_step_s`: the workload's step_compute_s(). A pure function of the job's seed and the part.
StepCost step_cost(const Job& job, const StepPart& part, double nominal_step_s);

/// What an update of so many parameters takes on the device beyond what a workload's step times include:
/// passes over vectors. Times of steps, measured or modelled, are taken to include an SGD update with
/// momentum, 20 bytes per parameter; clipping reads the gradient once more. 0 where the rate of passes is
/// unknown. Checked by hand in tests/learn/update_cost.cpp; docs/model.md, "Optimizers".
double update_s(const Device& device, const OptimizerSpec& optimizer, double parameters);

}  // namespace simsgd

#include "sim/step_cost.hpp"

namespace simsgd {

StepCost step_cost(const Job& job, const StepPart& part, double nominal_step_s) {
  StepCost cost;
  cost.scale = 1.0 / job.cluster.speed_of_rank(part.rank);
  const Distribution& factor = job.workload.compute_factor;
  if (factor.kind != Distribution::Kind::constant) {
    Stream draws({job.seed, Purpose::compute_time, static_cast<std::uint32_t>(part.rank), part.step});
    cost.scale *= factor.draw(draws);
  } else {
    cost.scale *= factor.quantile(0.5);
  }
  if (job.stragglers.empty()) return cost;
  const Straggle straggle = job.stragglers.at({.seed = job.seed,
                                               .rank = part.rank,
                                               .workers = job.workers(),
                                               .step = part.step,
                                               .nominal_compute_s = nominal_step_s * cost.scale,
                                               .mini_batch = part.index,
                                               .mini_batches = part.of});
  cost.delay_s = straggle.delay_s;
  cost.straggle = straggle.factor;
  return cost;
}

}  // namespace simsgd

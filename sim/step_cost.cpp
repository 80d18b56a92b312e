#include "sim/step_cost.hpp"

#include <algorithm>

#include "sim/job.hpp"

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
                                               .micro_batch = part.index,
                                               .micro_batches = part.of});
  cost.delay_s = straggle.delay_s;
  cost.straggle = straggle.factor;
  return cost;
}

double update_s(const Device& device, const OptimizerSpec& optimizer, double parameters) {
  constexpr double kIncluded_bytes = 20;  // momentum: read g, w, u; write w, u
  constexpr double kNorm_bytes = 4;       // read g
  if (!device.vector_pass.efficiency.known() || !(device.memory_Bps > 0)) return 0;
  const UpdateBytes update = optimizer.rule->bytes_per_parameter();
  const double bytes = update.read + update.written + (optimizer.clip_norm > 0 ? kNorm_bytes : 0);
  return std::max(0.0, bytes - kIncluded_bytes) * parameters / device.vector_Bps();
}

}  // namespace simsgd

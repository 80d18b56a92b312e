#include "sim/cluster/stragglers.hpp"

namespace simsgd {

Straggle Stragglers::at(StragglerContext context) const {
  Straggle straggle;
  StragglerContext of_step = context, of_micro_batch = context;
  of_step.micro_batch = 0;
  of_micro_batch.nominal_compute_s /= context.micro_batches;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    StragglerContext& seen = models_[i]->per_micro_batch() ? of_micro_batch : of_step;
    seen.index = static_cast<std::uint32_t>(i);
    const double delay_s = straggle.delay_s;
    models_[i]->apply(seen, straggle);
    if (context.micro_batch > seen.micro_batch) straggle.delay_s = delay_s;
  }
  return straggle;
}

Straggle Stragglers::at(std::uint64_t seed, int rank, int workers, std::uint64_t step,
                        double nominal_compute_s) const {
  return at(
      {.seed = seed, .rank = rank, .workers = workers, .step = step, .nominal_compute_s = nominal_compute_s});
}

}  // namespace simsgd

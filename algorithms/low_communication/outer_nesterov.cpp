#include "algorithms/low_communication/outer_nesterov.hpp"

#include "algorithms/cost_notes.hpp"

namespace simsgd {

void OuterSettings::fields(Fields& f) {
  f.number("outer_rate", rate, "eta: the outer optimizer has this learning rate").above(0);
  f.number("outer_momentum", momentum, "mu: the outer optimizer has this Nesterov momentum")
      .at_least(0)
      .below(1);
}

double outer_step_s(const AlgorithmContext& context) {
  note_kernel(context, DeviceKernel::vector_pass);
  return context.cluster ? vector_pass_s(context.cluster->device, {.read = 12, .written = 8}) : 0;
}

void OuterNesterov::step(Executor& executor, const Tensor& mean_difference) {
  if (!mean_difference) return;
  const double rate = settings_.rate, momentum = settings_.momentum;
  velocity_ = velocity_ ? linear_combination(executor, {momentum, 1.0}, {velocity_, mean_difference})
                        : mean_difference;
  agreed_ =
      linear_combination(executor, {1.0, -rate, -rate * momentum}, {agreed_, mean_difference, velocity_});
}

}  // namespace simsgd

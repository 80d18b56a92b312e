#include "algorithms/low_communication/outer_nesterov.hpp"

#include "algorithms/plugin.hpp"

namespace simsgd {

void OuterSettings::fields(Fields& f) {
  f.number("outer_rate", rate, "eta: the outer optimizer has this learning rate").above(0);
  f.number("outer_momentum", momentum, "mu: the outer optimizer keeps this much of its Nesterov momentum")
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

void DelayedNesterov::take(Executor& executor, const Tensor& difference) {
  ++taken_;
  if (!difference) return;
  const double delay = settings_.delay, c = settings_.spread / delay, beta = settings_.momentum;
  sum_ = sum_ ? linear_combination(executor, {1.0, 1.0}, {sum_, difference}) : difference;
  const bool updates = taken_ % static_cast<std::uint64_t>(settings_.delay) == 0;
  if (updates) {
    momentum_ = momentum_ ? linear_combination(executor, {beta, 1 / delay}, {momentum_, sum_})
                          : linear_combination(executor, {1 / delay}, {sum_});
    sum_ = {};
  }
  std::vector<double> weights = {1.0, -settings_.rate / delay};
  std::vector<Tensor> terms = {model_, difference};
  const double share = updates ? 1 - c * delay + c : c;
  if (momentum_ && share > 0) {
    weights.push_back(-settings_.rate * share * beta);
    terms.push_back(momentum_);
  }
  model_ = linear_combination(executor, weights, terms);
}

}  // namespace simsgd

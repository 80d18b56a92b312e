#include "algorithms/low_communication/delayed_nesterov.hpp"

namespace simsgd {

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

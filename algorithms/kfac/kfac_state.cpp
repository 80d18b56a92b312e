#include "algorithms/kfac/kfac_state.hpp"

namespace simsgd {

KfacState::KfacState(Worker& worker, const KfacSetup& setup)
    : worker_(worker), setup_(setup), factors_(setup.learned.layout.layers.size()), inverses_(factors_) {}

Tensor KfacState::gradient_and_factors(const FactorPlan& plan) {
  const bool with_factors = due(setup_.factor_interval);
  FactorRound round(worker_, setup_, plan);
  Tensor gradient = round.mean_gradient(with_factors);
  if (!with_factors) return gradient;
  const std::vector<FactorPair> fresh = round.mean_factors();
  for (std::size_t l = 0; l < fresh.size(); ++l)
    factors_[l] = average_factors(worker_.executor(), setup_.learned.layout.layers[l], factors_[l], fresh[l],
                                  setup_.math.old_weight);
  return gradient;
}

void KfacState::invert(const InversePlacement& placement, bool overlap) {
  if (due(setup_.inverse_interval))
    inverses_ = InverseRound(worker_, setup_, placement).invert(factors_, overlap);
}

Tensor KfacState::preconditioned(const Tensor& gradient) {
  Tensor direction;
  if (gradient)
    direction = precondition(worker_.executor(), setup_.learned.layout, gradient, inverses_,
                             worker_.replica().learning_rate(), setup_.math.kl_clip);
  worker_.compute().spend_on(Activity::factor,
                             setup_.costs.precondition_s * setup_.costs.slower(worker_.rank()), direction,
                             "preconditioning");
  return direction;
}

}  // namespace simsgd

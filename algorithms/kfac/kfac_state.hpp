// What a worker keeps from step to step in K-FAC: the running averages of the factors and the inverses, equal
// on all workers, and when the next ones are due. See kfac_math for the formulas.
#pragma once

#include <vector>

#include "algorithms/kfac/factor_round.hpp"
#include "algorithms/kfac/inverse_round.hpp"

namespace simsgd {

class KfacState {
 public:
  KfacState(Worker& worker, const KfacSetup& setup);

  /// The mean gradient of this step over all workers. Where factors are due they are computed, sent by `plan`
  /// and averaged.
  Tensor gradient_and_factors(const FactorPlan& plan);
  /// Where inverses are due.
  void invert(const InversePlacement& placement, bool overlap);
  /// The mean gradient, preconditioned and clipped; costs its time.
  Tensor preconditioned(const Tensor& gradient);

 private:
  bool due(std::uint64_t interval) const { return (worker_.step() - 1) % interval == 0; }

  Worker& worker_;
  const KfacSetup& setup_;
  std::vector<FactorPair> factors_, inverses_;  // by layer of the learner
};

}  // namespace simsgd

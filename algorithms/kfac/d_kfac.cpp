// D-KFAC: distributed K-FAC in which every worker inverts every factor.
//   gradients are averaged during the backward pass; then all A and G are computed, averaged, inverted
//   everywhere, and the step is that of services/kfac_math on the mean gradient
// The baseline of Shi, Zhang, Li, "Accelerating distributed K-FAC with smart parallelism of computing and
// communication tasks", ICDCS 2021, arXiv:2107.06533. Bytes per worker and step: all-reduces of the gradient
// and of the upper triangles of all factors; nothing of the factors overlaps.
#include "algorithms/kfac/d_kfac.hpp"

#include "algorithms/kfac/kfac_state.hpp"

namespace simsgd {

namespace {

class DKfac final : public Algorithm {
 public:
  explicit DKfac(KfacSetup setup) : setup_(std::move(setup)) {}

  void run(Worker& worker) const override {
    KfacState state(worker, setup_);
    const FactorPlan plan = bulk_plan(factor_order(worker.workload(), setup_), setup_.fusion_elements);
    const InversePlacement placement = place_everywhere(setup_.layers.factors.size());
    worker.note_table(groups_table(plan, setup_.layers));
    while (worker.next_step()) {
      const Values gradient = state.gradient_and_factors(plan);
      state.invert(placement, false);
      worker.apply(state.preconditioned(gradient));
    }
  }

 private:
  KfacSetup setup_;
};

}  // namespace

AlgorithmPlugin d_kfac_plugin() {
  Json properties = kfac_schema();
  properties.update(factor_threshold_schema());
  return {
      {"d_kfac",
       "distributed K-FAC: factors are averaged after the gradient, and every worker inverts all of them",
       "Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533",
       std::move(properties),
       {}},
      "all-reduces of the gradient and of the factors' upper triangles, n (n+1)/2 numbers each",
      [](const Parameters& parameters, const AlgorithmContext& context) -> std::unique_ptr<const Algorithm> {
        return std::make_unique<DKfac>(make_kfac_setup(parameters, context));
      }};
}

}  // namespace simsgd

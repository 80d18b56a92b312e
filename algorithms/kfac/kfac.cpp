// K-FAC on one worker: SGD along the gradient preconditioned by the inverse of a block-diagonal Fisher matrix
// whose blocks are Kronecker products.
//   W_l <- W_l - eta U(nu (G_l + gamma I)^-1 g(W_l) (A_l + gamma I)^-1),  U momentum; other parameters by SGD
// Martens and Grosse, ICML 2015, arXiv:1503.05671. Formulas: services/kfac_math. Nothing is sent.
#include "algorithms/kfac/kfac.hpp"

#include <fmt/format.h>

#include "algorithms/kfac/kfac_state.hpp"

namespace simsgd {

namespace {

class Kfac final : public Algorithm {
 public:
  explicit Kfac(KfacSetup setup) : setup_(std::move(setup)) {}

  void run(Worker& worker) const override {
    KfacState state(worker, setup_);
    const FactorPlan plan = bulk_plan(factor_order(worker.workload(), setup_), setup_.fusion_elements);
    const InversePlacement placement = place_everywhere(setup_.layers.factors.size());
    while (worker.next_step()) {
      const Values gradient = state.gradient_and_factors(plan);
      state.invert(placement, false);
      worker.apply(state.preconditioned(gradient));
    }
  }

 private:
  KfacSetup setup_;
};

std::unique_ptr<const Algorithm> make_kfac(const Parameters& parameters, const AlgorithmContext& context) {
  if (context.workers != 1)
    Parameters::reject("name", fmt::format("trains on one worker, and there are {}", context.workers),
                       "Use d_kfac, mpd_kfac or spd_kfac, or 1 worker");
  return std::make_unique<Kfac>(make_kfac_setup(parameters, context));
}

}  // namespace

AlgorithmPlugin kfac_plugin() {
  return {{"kfac",
           "second-order training on one worker: gradients preconditioned by Kronecker factors",
           "Martens and Grosse, ICML 2015, arXiv:1503.05671",
           kfac_schema(),
           {}},
          "nothing",
          make_kfac};
}

}  // namespace simsgd

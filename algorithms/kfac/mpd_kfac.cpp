// MPD-KFAC: distributed K-FAC in which the inversions are dealt out to the workers.
//   as d_kfac, but each factor is inverted by one worker, in the order of the layers; when all are inverted,
//   each inverse is broadcast by its owner
// Pauloski, Zhang, Huang, Xu, Foster, "Convolutional neural network training with distributed K-FAC", SC
// 2020, arXiv:2007.00784; Osawa et al., CVPR 2019, arXiv:1811.12019. Bytes per worker and step: those of
// d_kfac and a broadcast of the upper triangle of every inverse.
#include "algorithms/kfac/mpd_kfac.hpp"

#include "algorithms/kfac/kfac_state.hpp"

namespace simsgd {

namespace {

class MpdKfac final : public Algorithm {
 public:
  explicit MpdKfac(KfacSetup setup) : setup_(std::move(setup)) {}

  void run(Worker& worker) const override {
    KfacState state(worker, setup_);
    const FactorPlan plan = bulk_plan(factor_order(worker.workload(), setup_), setup_.fusion_elements);
    const InversePlacement placement = place_round_robin(setup_.layers.factors.size(), worker.size());
    worker.note_table(groups_table(plan, setup_.layers));
    worker.note_table(
        placement_table(placement, inverse_tasks(worker, setup_), worker.workload(), setup_.layers));
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

AlgorithmPlugin mpd_kfac_plugin() {
  Json properties = kfac_schema();
  properties.update(factor_threshold_schema());
  return {
      {"mpd_kfac",
       "distributed K-FAC with the inversions dealt out in turn, and every inverse broadcast",
       "Pauloski et al., SC 2020, arXiv:2007.00784",
       std::move(properties),
       {}},
      "all-reduces of the gradient and of the factors' upper triangles, a broadcast of every inverse's",
      [](const Parameters& parameters, const AlgorithmContext& context) -> std::unique_ptr<const Algorithm> {
        return std::make_unique<MpdKfac>(make_kfac_setup(parameters, context));
      }};
}

}  // namespace simsgd

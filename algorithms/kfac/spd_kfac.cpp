// SPD-KFAC: distributed K-FAC with smart parallelism, three parts that can be switched one by one:
//   pipelining  A_l is computed before layer l's forward pass and G_l after its backward pass, and groups of
//               factors are averaged while computing goes on (none: as d_kfac)
//   placement   inversions that are worth a broadcast go to the worker of least load, the others are done
//               everywhere (everywhere: as d_kfac, round_robin: as mpd_kfac)
//   overlap     the broadcast of one inverse goes on beside the next inversion
// Shi, Zhang, Li, "Accelerating distributed K-FAC with smart parallelism of computing and communication
// tasks", ICDCS 2021, arXiv:2107.06533. The numbers are those of d_kfac. Bytes per worker and step:
// all-reduces of the gradient and of the factors' upper triangles, broadcasts of the inverses that are sent.
#include "algorithms/kfac/spd_kfac.hpp"

#include "algorithms/kfac/kfac_state.hpp"

namespace simsgd {

namespace {

struct Smart {
  std::string pipelining = "dynamic", placement = "balanced", rule = "cost";
  int least_dim = 0;
  bool overlap = true;
  FusionCost cost;  ///< what is negative is predicted
};

/// A line through the predicted times of an empty and a large all-reduce of this cluster.
FusionCost fusion_cost(Worker& worker, FusionCost given) {
  constexpr double kElements = 1e7;
  Collective collective;
  collective.tensors = 1;
  const double empty_s = worker.predict(collective);
  collective.bytes = kElements * worker.workload().bytes_per_parameter;
  const double full_s = worker.predict(collective);
  return {given.latency_s < 0 ? empty_s : given.latency_s,
          given.per_element_s < 0 ? (full_s - empty_s) / kElements : given.per_element_s};
}

class SpdKfac final : public Algorithm {
 public:
  SpdKfac(KfacSetup setup, Smart smart) : setup_(std::move(setup)), smart_(std::move(smart)) {}

  void run(Worker& worker) const override {
    KfacState state(worker, setup_);
    const FactorPlan plan = make_plan(worker);
    const std::vector<InverseTask> tasks = inverse_tasks(worker, setup_);
    const InversePlacement placement = place(tasks, worker.size());
    worker.note_table(groups_table(plan, setup_.layers));
    worker.note_table(placement_table(placement, tasks, worker.workload(), setup_.layers));
    while (worker.next_step()) {
      const Values gradient = state.gradient_and_factors(plan);
      state.invert(placement, smart_.overlap);
      worker.apply(state.preconditioned(gradient));
    }
  }

 private:
  FactorPlan make_plan(Worker& worker) const {
    const FactorOrder order = factor_order(worker.workload(), setup_);
    if (smart_.pipelining == "none") return bulk_plan(order, setup_.fusion_elements);
    if (smart_.pipelining == "layer_wise")
      return pipelined_plan(order, separate_groups(order.a.size()), separate_groups(order.g.size()));
    if (smart_.pipelining == "threshold")
      return pipelined_plan(order, groups_by_threshold(order.a_ready, setup_.fusion_elements),
                            groups_by_threshold(order.g_ready, setup_.fusion_elements));
    const FusionCost cost = fusion_cost(worker, smart_.cost);
    return pipelined_plan(order, dynamic_groups(order.a_ready, cost), dynamic_groups(order.g_ready, cost));
  }

  InversePlacement place(const std::vector<InverseTask>& tasks, int workers) const {
    if (smart_.placement == "everywhere") return place_everywhere(tasks.size());
    if (smart_.placement == "round_robin") return place_round_robin(tasks.size(), workers);
    return smart_.rule == "cost" ? place_balanced(tasks, workers)
                                 : place_balanced_from(tasks, workers, smart_.least_dim);
  }

  KfacSetup setup_;
  Smart smart_;
};

Json smart_schema() {
  const auto time_of = [](const std::string& description) {
    Json schema = quantity("time", description);
    schema["minimum"] = 0;
    return schema;
  };
  return {
      {"pipelining",
       {{"enum", {"none", "layer_wise", "threshold", "dynamic"}},
        {"default", "dynamic"},
        {"description",
         "how factors travel: after the gradient (none), or while computing goes on, each by itself "
         "(layer_wise), together up to factor_threshold (threshold), or merged where that is predicted to "
         "pay "
         "(dynamic)"}}},
      {"fusion_latency",
       time_of("what dynamic fusion takes an all-reduce to cost, however short; by default as "
               "predicted on this cluster")},
      {"fusion_per_element", time_of("and for each number in it; by default as predicted on this cluster")},
      {"placement",
       {{"enum", {"everywhere", "round_robin", "balanced"}},
        {"default", "balanced"},
        {"description",
         "who inverts a factor: everybody, one worker in turn, or whoever has least to do, where that is "
         "worth a "
         "broadcast"}}},
      {"placement_rule",
       {{"enum", {"cost", "threshold"}},
        {"default", "cost"},
        {"description",
         "when an inverse is worth a broadcast: if it is predicted to take longer than that (cost), or from "
         "placement_threshold on"}}},
      {"placement_threshold",
       {{"type", "integer"},
        {"minimum", 1},
        {"maximum", 1 << 20},
        {"default", 1400},
        {"description", "least dimension of a factor that is not inverted by everybody, by that rule"}}},
      {"overlap",
       {{"type", "boolean"},
        {"default", true},
        {"description", "whether an inverse is broadcast while the next is computed"}}}};
}

std::unique_ptr<const Algorithm> make_spd_kfac(const Parameters& parameters,
                                               const AlgorithmContext& context) {
  Smart smart;
  smart.pipelining = parameters.text("pipelining", smart.pipelining);
  smart.placement = parameters.text("placement", smart.placement);
  smart.rule = parameters.text("placement_rule", smart.rule);
  smart.least_dim = static_cast<int>(parameters.integer("placement_threshold", 1400));
  smart.overlap = parameters.flag("overlap", true);
  smart.cost = {parameters.quantity("fusion_latency", Dimension::time_s, -1),
                parameters.quantity("fusion_per_element", Dimension::time_s, -1)};
  return std::make_unique<SpdKfac>(make_kfac_setup(parameters, context), std::move(smart));
}

}  // namespace

AlgorithmPlugin spd_kfac_plugin() {
  Json properties = kfac_schema();
  properties.update(factor_threshold_schema());
  properties.update(smart_schema());
  return {
      {"spd_kfac",
       "distributed K-FAC that pipelines factors, fuses their messages and balances the inversions",
       "Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533",
       std::move(properties),
       {}},
      "all-reduces of the gradient and of the factors' upper triangles, broadcasts of the larger inverses'",
      make_spd_kfac};
}

}  // namespace simsgd

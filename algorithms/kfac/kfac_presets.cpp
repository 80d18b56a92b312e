// K-FAC: SGD along the gradient preconditioned by the inverse of a block-diagonal Fisher matrix whose blocks
// are Kronecker products (formulas: kfac_math.hpp). One class, of which the algorithms are presets; their
// numbers are the same.
//   W_l <- W_l - eta U(nu (G_l + gamma I)^-1 g(W_l) (A_l + gamma I)^-1),  U momentum; other parameters by SGD
//   kfac      one worker; nothing is sent. Martens and Grosse, ICML 2015, arXiv:1503.05671
//   d_kfac    gradients are averaged during the backward pass; then all A and G are computed, averaged, and
//             inverted by every worker; nothing of the factors overlaps. The baseline of arXiv:2107.06533.
//             Bytes per worker and step: all-reduces of the gradient and of the factors' upper triangles
//   mpd_kfac  as d_kfac, but each factor is inverted by one worker, in the order of the layers; when all are
//             inverted, each inverse is broadcast by its owner. Pauloski, Zhang, Huang, Xu, Foster,
//             "Convolutional neural network training with distributed K-FAC", SC 2020, arXiv:2007.00784;
//             Osawa et al., CVPR 2019, arXiv:1811.12019. Bytes: and the upper triangle of every inverse
//   spd_kfac  smart parallelism, three parts that can be switched one by one. Shi, Zhang, Li, "Accelerating
//             distributed K-FAC with smart parallelism of computing and communication tasks", ICDCS 2021,
//             arXiv:2107.06533. Bytes: and the upper triangles of the inverses that are sent
//     pipelining  A_l is computed before layer l's forward pass and G_l after its backward pass, and groups
//                 of factors are averaged while computing goes on (none: as d_kfac)
//     placement   inversions that are worth a broadcast go to the worker of least load, the others are done
//                 everywhere (everywhere: as d_kfac, round_robin: as mpd_kfac)
//     overlap     the broadcast of one inverse goes on beside the next inversion
#include <fmt/format.h>

#include <vector>

#include "algorithms/kfac/factor_round.hpp"
#include "algorithms/kfac/inverse_round.hpp"

namespace simsgd {

namespace {

// What a worker keeps from step to step in K-FAC: the running averages of the factors and the inverses, equal
// on all workers, and when the next ones are due. See kfac_math for the formulas.

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

}  // namespace

}  // namespace simsgd

namespace simsgd::algorithms {

namespace {

enum class Pipelining : std::uint8_t { none, layer_wise, threshold, dynamic };
enum class Placement : std::uint8_t { everywhere, round_robin, balanced };
enum class PlacementRule : std::uint8_t { cost, threshold };

/// Who computes and sends what, when.
struct KfacMethod {
  Pipelining pipelining = Pipelining::none;
  std::optional<double> fusion_latency_s{}, fusion_per_element_s{};  ///< missing: as predicted
  Placement placement = Placement::everywhere;
  PlacementRule rule = PlacementRule::cost;
  int least_dim = 1400;
  bool overlap = false;
  bool groups_noted = true;     ///< in the record
  bool placement_noted = true;  ///< likewise; not where there is no choice

  void fields(Fields& f) {
    f.choice(
        "pipelining", pipelining,
        {{"none", Pipelining::none},
         {"layer_wise", Pipelining::layer_wise},
         {"threshold", Pipelining::threshold},
         {"dynamic", Pipelining::dynamic}},
        "Factors travel after the gradient (none), or while computing goes on: each by itself (layer_wise), together up to factor_threshold (threshold), or merged where that is predicted to pay (dynamic)");
    f.time("fusion_latency", fusion_latency_s,
           "Dynamic fusion takes this for the fixed time of an all-reduce")
        .by_rule("as predicted on this cluster");
    f.time("fusion_per_element", fusion_per_element_s,
           "Dynamic fusion takes this for the time of each number in an all-reduce")
        .by_rule("as predicted on this cluster");
    f.choice(
        "placement", placement,
        {{"everywhere", Placement::everywhere},
         {"round_robin", Placement::round_robin},
         {"balanced", Placement::balanced}},
        "A factor is inverted by every worker (everywhere), by one worker in turn (round_robin), or by the least loaded worker if that is worth a broadcast (balanced)");
    f.choice(
        "placement_rule", rule, {{"cost", PlacementRule::cost}, {"threshold", PlacementRule::threshold}},
        "An inverse is worth a broadcast if inverting is predicted to take longer than broadcasting (cost), or from dimension placement_threshold on (threshold)");
    f.whole(
         "placement_threshold", least_dim,
         "With the rule \"threshold\", factors of this dimension and larger are inverted by one worker each")
        .at_least(1)
        .at_most(1 << 20);
    f.flag("overlap", overlap, "Whether an inverse is broadcast while the next one is computed");
  }
};

struct SpdKfacOptions : DistributedKfacOptions {
  KfacMethod method{.pipelining = Pipelining::dynamic, .placement = Placement::balanced, .overlap = true};

  void fields(Fields& f) {
    DistributedKfacOptions::fields(f);
    method.fields(f);
  }
};

FusionCost fusion_cost(Worker& worker, const KfacMethod& method) {
  const FusionCost predicted = predicted_fusion_cost(worker);
  return {method.fusion_latency_s.value_or(predicted.latency_s),
          method.fusion_per_element_s.value_or(predicted.per_element_s)};
}

class Kfac final : public Algorithm {
 public:
  Kfac(KfacSetup setup, const KfacMethod& method) : setup_(std::move(setup)), method_(method) {}

  void run(Worker& worker) const override {
    KfacState state(worker, setup_);
    const FactorPlan plan = make_plan(worker);
    const std::vector<InverseTask> tasks =
        method_.placement_noted ? inverse_tasks(worker, setup_) : std::vector<InverseTask>();
    const InversePlacement placement = position(tasks, worker.size());
    if (method_.groups_noted) worker.record().table(groups_table(plan, setup_.layers));
    if (method_.placement_noted)
      worker.record().table(placement_table(placement, tasks, worker.workload(), setup_.layers));
    while (worker.next_step()) {
      const Tensor gradient = state.gradient_and_factors(plan);
      state.invert(placement, method_.overlap);
      worker.replica().apply(state.preconditioned(gradient));
    }
  }

  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    double numbers = 0;
    for (const WorkloadFactor& factor : setup_.layers.factors)
      numbers += static_cast<double>(factor.dim) * factor.dim;
    return replica_memory_and(
        context, {{"factors", kBytesPerNumber * numbers}, {"inverses", kBytesPerNumber * numbers}});
  }

 private:
  FactorPlan make_plan(Worker& worker) const {
    const FactorOrder order = factor_order(worker.workload(), setup_);
    switch (method_.pipelining) {
      case Pipelining::none:
        break;
      case Pipelining::layer_wise:
        return pipelined_plan(order, separate_groups(order.a.size()), separate_groups(order.g.size()));
      case Pipelining::threshold:
        return pipelined_plan(order, groups_by_threshold(order.a_ready, setup_.fusion_elements),
                              groups_by_threshold(order.g_ready, setup_.fusion_elements));
      case Pipelining::dynamic: {
        const FusionCost cost = fusion_cost(worker, method_);
        return pipelined_plan(order, merged_groups(order.a_ready, cost), merged_groups(order.g_ready, cost));
      }
    }
    return bulk_plan(order, setup_.fusion_elements);
  }

  InversePlacement position(const std::vector<InverseTask>& tasks, int workers) const {
    const std::size_t factors = setup_.layers.factors.size();
    if (method_.placement == Placement::everywhere) return place_everywhere(factors);
    if (method_.placement == Placement::round_robin) return place_round_robin(factors, workers);
    return method_.rule == PlacementRule::cost ? place_balanced(tasks, workers)
                                               : place_balanced_from(tasks, workers, method_.least_dim);
  }

  KfacSetup setup_;
  KfacMethod method_;
};

MadeAlgorithm make_kfac(const KfacOptions& options, const AlgorithmContext& context) {
  if (context.workers != 1)
    reject("name", fmt::format("trains on one worker, and this run has {}", context.workers),
           "Use d_kfac, mpd_kfac or spd_kfac, or 1 worker");
  return std::make_unique<Kfac>(make_kfac_setup(options, context),
                                KfacMethod{.groups_noted = false, .placement_noted = false});
}

MadeAlgorithm make_d_kfac(const DistributedKfacOptions& options, const AlgorithmContext& context) {
  return std::make_unique<Kfac>(make_kfac_setup(options, context), KfacMethod{.placement_noted = false});
}

MadeAlgorithm make_mpd_kfac(const DistributedKfacOptions& options, const AlgorithmContext& context) {
  return std::make_unique<Kfac>(make_kfac_setup(options, context),
                                KfacMethod{.placement = Placement::round_robin});
}

MadeAlgorithm make_spd_kfac(const SpdKfacOptions& options, const AlgorithmContext& context) {
  return std::make_unique<Kfac>(make_kfac_setup(options, context), options.method);
}

}  // namespace

std::vector<AlgorithmPlugin> kfac_presets() {
  return {
      {{.name = "d_kfac",
        .summary =
            "distributed K-FAC: factors are averaged after the gradient, and every worker inverts all of them",
        .citation = "Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533"},
       "all-reduces of the gradient and of the factors' upper triangles, n (n+1)/2 numbers each",
       {.sends = {Traffic::gradient, Traffic::factor}, .activities = {Activity::factor, Activity::inverse}},
       make_d_kfac},
      {{.name = "kfac",
        .summary = "second-order training on one worker: gradients preconditioned by Kronecker factors",
        .citation = "Martens and Grosse, ICML 2015, arXiv:1503.05671"},
       "nothing",
       {.activities = {Activity::factor, Activity::inverse}},
       make_kfac},
      {{.name = "mpd_kfac",
        .summary = "distributed K-FAC with the inversions dealt out in turn, and every inverse broadcast",
        .citation = "Pauloski et al., SC 2020, arXiv:2007.00784"},
       "all-reduces of the gradient and of the factors' upper triangles, a broadcast of every inverse's",
       {.sends = {Traffic::gradient, Traffic::factor, Traffic::inverse},
        .activities = {Activity::factor, Activity::inverse}},
       make_mpd_kfac},
      {{.name = "spd_kfac",
        .summary =
            "distributed K-FAC that pipelines factors, fuses their messages and balances the inversions",
        .citation = "Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533"},
       "all-reduces of the gradient and of the factors' upper triangles, broadcasts of the larger inverses'",
       {.sends = {Traffic::gradient, Traffic::factor, Traffic::inverse},
        .activities = {Activity::factor, Activity::inverse}},
       make_spd_kfac}};
}

}  // namespace simsgd::algorithms

// SGP: stochastic gradient push, decentralised SGD over directed messages.
//   x_i <- x_i - eta U(g_i(z_i)),  then a push-sum round of (x, w),  z_i = x_i / w_i
// Neighbours change from round to round: push_sum.hpp. Momentum stays local.
// Assran, Loizou, Ballas, Rabbat, "Stochastic Gradient Push for Distributed Deep Learning", ICML 2019,
// arXiv:1811.10792, Algorithm 1. Bytes per worker and step: the model to n others. Beside the messages the
// host scales the model twice a step, by 1 / (n + 1) and by 1 / w: HostCosts::scale_s_per_byte each.
// After a crash a worker computes again what it lost; its neighbours wait, because weights must not be lost.
#include "algorithms/gossip/push_sum.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

class Sgp final : public Algorithm {
 public:
  Sgp(PushSumRounds rounds, double scaling_s) : rounds_(std::move(rounds)), scaling_s_(scaling_s) {}

  void run(Worker& worker) const override {
    PushSumRounds::State state = PushSumRounds::initial(worker);
    while (worker.next_step()) {
      // The gradient is computed at the worker's model, the estimate; the update changes the numerator.
      const auto update = [&](const Tensor& gradient) {
        const Tensor estimate = worker.replica().parameters();
        worker.replica().set(state.numerator);
        worker.replica().apply(gradient);
        const Tensor updated = worker.replica().parameters();
        worker.replica().set(estimate);
        return updated;
      };
      state = rounds_.step(worker, worker.step(), state, update);
      if (scaling_s_ > 0) worker.compute().spend(Activity::host, scaling_s_);
      worker.replica().set(PushSumRounds::estimate(worker, state));
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"received model", context.vector_bytes()}});
  }

 private:
  PushSumRounds rounds_;
  double scaling_s_;  // of a step
};

struct SgpOptions {
  Coupling coupling = Coupling::neighbour;
  ModelFusion fusion;
  int neighbours = 1;

  void fields(Fields& f) {
    coupling_field(f, coupling);
    fusion.fields(f);
    f.whole("neighbours", neighbours,
            "A worker sends to this many others in each round, at most ceil(log2 P)")
        .at_least(1);
  }
};

MadeAlgorithm make_sgp(const SgpOptions& options, const AlgorithmContext& context) {
  const int most = push_sum_period(context.workers);
  if (options.neighbours > most)
    reject("neighbours",
           "is more than the " + std::to_string(most) + " distances that " + std::to_string(context.workers) +
               " workers have",
           "Use at most " + std::to_string(most) + ", or more workers");
  double scaling_s = 0;
  if (context.workers > 1 && context.cluster != nullptr) {
    scaling_s = 2 * context.workload->model_bytes() * context.cluster->host.scale_s_per_byte;
    note_cluster_cost(context, context.cluster->host.scale_s_per_byte, "scaling a model takes no time",
                      "host.scale");
  }
  return std::make_unique<Sgp>(PushSumRounds({.workers = context.workers,
                                              .neighbours = options.neighbours,
                                              .coupling = options.coupling,
                                              .buckets = make_buckets(*context.workload, options.fusion),
                                              .bytes_per_parameter = context.workload->bytes_per_parameter}),
                               scaling_s);
}

}  // namespace

std::vector<AlgorithmPlugin> sgp() {
  return {
      {{.name = "sgp",
        .summary =
            "stochastic gradient push: push-sum over a directed exponential graph that changes every step",
        .citation = "Assran et al., ICML 2019, arXiv:1811.10792"},
       "the model to each of `neighbours` others",
       {.sends = {Traffic::model}},
       make_sgp}};
}

}  // namespace simsgd::algorithms

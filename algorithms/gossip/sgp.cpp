// SGP: stochastic gradient push, decentralised SGD over directed messages.
//   x_i <- x_i - eta U(g_i(z_i)),  then a push-sum round of (x, w),  z_i = x_i / w_i
// Neighbours change from round to round: services/push_sum. Momentum stays local.
// Assran, Loizou, Ballas, Rabbat, "Stochastic Gradient Push for Distributed Deep Learning", ICML 2019,
// arXiv:1811.10792, Algorithm 1. Bytes per worker and step: the model to n others. Beside the messages the
// host scales the model twice a step, by 1 / (n + 1) and by 1 / w: HostCosts::scale_s_per_byte each.
// After a crash a worker computes again what it lost; its neighbours wait, because weights must not be lost.
#include "algorithms/gossip/sgp.hpp"

#include "algorithms/cost_notes.hpp"
#include "algorithms/gossip/push_sum.hpp"

namespace simsgd {

namespace {

class Sgp final : public Algorithm {
 public:
  Sgp(PushSumRounds rounds, double scaling_s) : rounds_(std::move(rounds)), scaling_s_(scaling_s) {}

  void run(Worker& worker) const override {
    PushSumRounds::State state = PushSumRounds::initial(worker);
    while (worker.next_step()) {
      // The gradient is computed at the worker's model, the estimate; the update changes the numerator.
      const auto update = [&](const Values& gradient) {
        const Values estimate = worker.model();
        worker.set_model(state.numerator);
        worker.apply(gradient);
        const Values updated = worker.model();
        worker.set_model(estimate);
        return updated;
      };
      state = rounds_.step(worker, worker.step(), state, update);
      if (scaling_s_ > 0) worker.spend(Activity::host, scaling_s_);
      worker.set_model(PushSumRounds::estimate(worker, state));
    }
  }

 private:
  PushSumRounds rounds_;
  double scaling_s_;  // of a step
};

Json sgp_schema() {
  Json schema = coupling_schema();
  schema.update(model_fusion_schema());
  schema["neighbours"] = {{"type", "integer"},
                          {"minimum", 1},
                          {"default", 1},
                          {"description", "whom a worker sends to in each round, at most ceil(log2 P)"}};
  return schema;
}

std::unique_ptr<const Algorithm> make_sgp(const Parameters& parameters, const AlgorithmContext& context) {
  const auto neighbours = static_cast<int>(parameters.integer("neighbours", 1));
  const int most = push_sum_period(context.workers);
  if (neighbours > most)
    Parameters::reject("neighbours",
                       "is more than the " + std::to_string(most) + " distances that " +
                           std::to_string(context.workers) + " workers have",
                       "Use at most " + std::to_string(most) + ", or more workers");
  double scaling_s = 0;
  if (context.workers > 1 && context.cluster != nullptr) {
    scaling_s = 2 * context.workload->model_bytes() * context.cluster->host.scale_s_per_byte;
    note_cluster_cost(context, context.cluster->host.scale_s_per_byte, "scaling a model takes no time",
                      "host.scale");
  }
  return std::make_unique<Sgp>(
      PushSumRounds({.workers = context.workers,
                     .neighbours = neighbours,
                     .coupling = coupling_from(parameters),
                     .buckets = make_buckets(*context.workload, model_fusion_from(parameters)),
                     .bytes_per_parameter = context.workload->bytes_per_parameter}),
      scaling_s);
}

}  // namespace

AlgorithmPlugin sgp_plugin() {
  return {{"sgp",
           "stochastic gradient push: push-sum over a directed exponential graph that changes every step",
           "Assran et al., ICML 2019, arXiv:1811.10792",
           sgp_schema(),
           {}},
          "the model to each of `neighbours` others",
          make_sgp};
}

}  // namespace simsgd

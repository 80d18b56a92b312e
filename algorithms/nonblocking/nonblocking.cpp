// Non-blocking SGD: a worker's batch is cut into M mini-batches, and the model is updated from those that are
// finished when a trigger ends the round, so that nobody waits for the slowest worker's whole batch.
//   round k, worker i:  G_i = sum of the gradients of c_i <= M mini-batches, all at the same x_i;
//                       then the update of services/round_update: over an all-reduce, D-PSGD or MATCHA
// "Non-blocking mini-batches": its abstract, and a reconstruction with every open choice as an option
// (docs/papers/nonblocking.md). At equal times a completion comes before SYNC, and the next mini-batch has
// then begun. "trigger": "none" is the blocking method, and so is M = 1 with "preempt": "finish". After a
// crash a worker over an all-reduce recomputes what it lost while the others wait; over D-PSGD and MATCHA it
// goes on with its checkpoint. Bytes per worker and round: those of the exchange, and SYNC, which has none.
#include "algorithms/nonblocking/nonblocking.hpp"

#include <fmt/format.h>

#include <array>

#include "algorithms/gossip_rounds.hpp"
#include "algorithms/nonblocking/round_trigger.hpp"
#include "algorithms/nonblocking/round_update.hpp"

namespace simsgd {

namespace {

struct NonblockingSettings {
  std::shared_ptr<const GossipRounds>
      gossip;  ///< over: d_psgd or matcha; shared with copies. Null: all-reduce
  RoundSettings round;
  TriggerSettings trigger;
  bool drop = false;  ///< the mini-batch that is in progress when the round ends
  bool carry = true;  ///< what a round leaves undone into the next
};

class NonblockingSgd final : public Algorithm {
 public:
  explicit NonblockingSgd(const NonblockingSettings& settings) : settings_(settings) {}

  void run(Worker& worker) const override {
    const auto most = static_cast<std::uint64_t>(settings_.round.mini_batches);
    RoundTrigger trigger(worker, settings_.trigger);
    const std::unique_ptr<RoundUpdate> update =
        settings_.gossip ? update_over_gossip(worker, settings_.round, *settings_.gossip)
                         : update_over_allreduce(worker, settings_.round);
    worker.recover_by(settings_.gossip ? Recovery::rejoin : Recovery::recompute);
    std::uint64_t next = 0;  // of the worker's mini-batches, M of each batch
    while (worker.next_step()) {
      if (!settings_.carry) next = (worker.step() - 1) * most;
      const std::vector<Values> gradients = compute(worker, trigger, next);
      next += gradients.size();
      update->apply(gradients);
    }
  }

 private:
  // The gradients of the mini-batches from number `next` on that are finished before the round ends.
  std::vector<Values> compute(Worker& worker, RoundTrigger& trigger, std::uint64_t next) const {
    const auto most = static_cast<std::size_t>(settings_.round.mini_batches);
    std::vector<Values> gradients;
    const Handle over = trigger.begin(worker.step());
    if (over && worker.done(over)) return gradients;
    for (; gradients.size() < most; ++next) {
      ComputeOptions options;
      options.part = static_cast<int>(next % most);
      options.parts = settings_.round.mini_batches;
      options.batch = next / most + 1;
      const Handle gradient = worker.start_gradient(options);
      const bool cut_short = over && worker.wait_any(std::array{gradient, over}) == 1;
      if (cut_short && settings_.drop) {
        worker.cancel(gradient);
        return gradients;
      }
      worker.wait(gradient);
      gradients.push_back(worker.result(gradient));
      if (cut_short) return gradients;
    }
    trigger.finished();
    return gradients;
  }

  NonblockingSettings settings_;
};

// What every worker averages with whom, if it is not an all-reduce. What belongs to one synchroniser alone is
// refused with another.
std::shared_ptr<const GossipRounds> gossip_from(const Parameters& parameters,
                                                const AlgorithmContext& context) {
  const std::string over = parameters.text("over", "allreduce");
  const auto belongs = [&](const char* key, const char* to) {
    if (parameters.has(key) && over != to)
      Parameters::reject(key, fmt::format("is for \"over\": \"{}\" alone", to),
                         fmt::format("Leave it out, or set \"over\": \"{}\"", to));
  };
  belongs("weights", "d_psgd");
  belongs("budget", "matcha");
  belongs("probabilities", "matcha");
  if (over == "d_psgd")
    return std::make_shared<NeighbourRounds>(
        neighbour_rounds_from(parameters, *context.graph, *context.workload));
  if (over == "matcha")
    return std::make_shared<MatchingRounds>(
        matching_rounds_from(parameters, *context.graph, *context.workload, context.seed));
  for (const char* key : {"alpha", "coupling"})
    if (parameters.has(key))
      Parameters::reject(key, "has no meaning over an all-reduce",
                         "Leave it out, or set \"over\" to \"d_psgd\" or \"matcha\"");
  return nullptr;
}

std::unique_ptr<const Algorithm> make_nonblocking(const Parameters& parameters,
                                                  const AlgorithmContext& context) {
  NonblockingSettings settings;
  settings.round.mini_batches = static_cast<int>(parameters.integer("mini_batches", 8));
  if (context.learner && context.learner->batch() < settings.round.mini_batches)
    Parameters::reject(
        "mini_batches",
        fmt::format("is more than the {} samples of the learner's batch", context.learner->batch()),
        fmt::format("Give at most {}, or raise /learner/batch", context.learner->batch()));
  settings.round.weighting =
      parameters.text("weighting", "sample") == "worker" ? Weighting::worker : Weighting::sample;
  settings.trigger = trigger_from(parameters, context.workers);
  settings.drop = parameters.text("preempt", "finish") == "drop";
  settings.carry = parameters.flag("carry", true);
  settings.gossip = gossip_from(parameters, context);
  return std::make_unique<NonblockingSgd>(settings);
}

Json nonblocking_properties() {
  Json all = trigger_schema();
  all["over"] = {{"enum", {"allreduce", "d_psgd", "matcha"}},
                 {"default", "allreduce"},
                 {"description", "how a round is exchanged: by all, or with neighbours in a graph"}};
  all["graph"] = graph_schema("ring");
  const Json neighbours = neighbour_rounds_schema(), matchings = matching_rounds_schema();
  for (const char* key : {"weights", "alpha", "coupling"}) all[key] = neighbours[key];
  for (const char* key : {"budget", "probabilities"}) all[key] = matchings[key];
  // Those of the synchroniser that is chosen: what a default cannot tell.
  for (const char* key : {"weights", "coupling", "budget", "probabilities"}) all[key].erase("default");
  all["mini_batches"] = {{"type", "integer"},
                         {"minimum", 1},
                         {"maximum", 1024},
                         {"default", 8},
                         {"description", "mini-batches that a worker's batch is cut into"}};
  all["preempt"] = {{"enum", {"finish", "drop"}},
                    {"default", "finish"},
                    {"description", "what happens to the mini-batch in progress when the round ends"}};
  all["weighting"] = {
      {"enum", {"sample", "worker"}},
      {"default", "sample"},
      {"description",
       "the update is the mean over finished samples, scaled by their share of the batch (sample), or the "
       "mean of the workers' own means (worker)"}};
  all["carry"] = {{"type", "boolean"},
                  {"default", true},
                  {"description", "whether mini-batches that a round leaves undone go into the next one"}};
  return all;
}

}  // namespace

AlgorithmPlugin nonblocking_plugin() {
  return {{"nonblocking",
           "the model is updated from the mini-batches that are finished when the first worker is through",
           "Non-blocking mini-batches (abstract, and a reconstruction: docs/papers/nonblocking.md)",
           nonblocking_properties(),
           {}},
          "one exchange of the gradient (over: allreduce) or of the model (d_psgd, matcha)",
          make_nonblocking};
}

}  // namespace simsgd

// Non-blocking SGD: a worker's batch is cut into M micro-batches, and the model is updated from those that
// are finished when a trigger ends the round, so that nobody waits for the slowest worker's whole batch.
//   round k, worker i:  G_i = sum of the gradients of c_i <= M micro-batches, all at the same x_i;
//                       then the update of round_update.hpp: over an all-reduce, D-PSGD or MATCHA
// "Non-blocking mini-batches": its abstract, and a reconstruction with every open choice as an option
// (docs/papers/nonblocking.md). At equal times a completion comes before SYNC, and the next micro-batch has
// then begun. "trigger": "none" is the blocking method, and so is M = 1 with "preempt": "finish". After a
// crash a worker over an all-reduce recomputes what it lost while the others wait; over D-PSGD and MATCHA it
// goes on with its checkpoint. Bytes per worker and round: those of the exchange, and SYNC, which has none.
#include <fmt/format.h>

#include <array>

#include "algorithms/gossip_rounds.hpp"
#include "algorithms/nonblocking/round_trigger.hpp"
#include "algorithms/nonblocking/round_update.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

enum class Over : std::uint8_t { allreduce, d_psgd, matcha };

struct NonblockingOptions {
  Over over = Over::allreduce;
  RawValue graph;
  GivenRoundsOptions gossip;
  RoundSettings round{.micro_batches = 8};
  TriggerSettings trigger;
  bool drop = false;
  bool carry = true;

  void fields(Fields& f) {
    trigger.fields(f);
    f.choice("over", over,
             {{"allreduce", Over::allreduce}, {"d_psgd", Over::d_psgd}, {"matcha", Over::matcha}},
             "how a round is exchanged: by all, or with neighbours in a graph");
    graph_field(f, graph);
    gossip.fields(f);
    round.fields(f);
    f.choice("preempt", drop, {{"finish", false}, {"drop", true}},
             "what happens to the micro-batch in progress when the round ends");
    f.flag("carry", carry, "whether micro-batches that a round leaves undone go into the next one");
  }
};

class NonblockingSgd final : public Algorithm {
 public:
  /// `gossip`: null for an all-reduce.
  NonblockingSgd(const NonblockingOptions& options, std::unique_ptr<const GossipRounds> gossip)
      : options_(options), gossip_(std::move(gossip)) {}

  void run(Worker& worker) const override {
    const auto most = static_cast<std::uint64_t>(options_.round.micro_batches);
    RoundTrigger trigger(worker, options_.trigger);
    const std::unique_ptr<RoundUpdate> update = gossip_ ? update_over_gossip(worker, options_.round, *gossip_)
                                                        : update_over_allreduce(worker, options_.round);
    worker.recover_by(gossip_ ? Recovery::rejoin : Recovery::recompute);
    std::uint64_t next = 0;  // of the worker's micro-batches, M of each batch
    while (worker.next_step()) {
      if (!options_.carry) next = (worker.step() - 1) * most;
      const std::vector<Values> gradients = compute(worker, trigger, next);
      next += gradients.size();
      update->apply(gradients);
    }
  }

 private:
  // The gradients of the micro-batches from number `next` on that are finished before the round ends.
  std::vector<Values> compute(Worker& worker, RoundTrigger& trigger, std::uint64_t next) const {
    const auto most = static_cast<std::size_t>(options_.round.micro_batches);
    std::vector<Values> gradients;
    const Handle over = trigger.begin(worker.step());
    if (over && worker.done(over)) return gradients;
    for (; gradients.size() < most; ++next) {
      ComputeOptions options;
      options.part = static_cast<int>(next % most);
      options.parts = options_.round.micro_batches;
      options.batch = next / most + 1;
      const Handle gradient = worker.start_gradient(options);
      const bool cut_short = over && worker.wait_any(std::array{gradient, over}) == 1;
      if (cut_short && options_.drop) {
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

  NonblockingOptions options_;
  std::unique_ptr<const GossipRounds> gossip_;
};

// What every worker averages with whom, if it is not an all-reduce. What belongs to one synchroniser alone is
// refused with another.
std::unique_ptr<const GossipRounds> gossip_of(const NonblockingOptions& options,
                                              const AlgorithmContext& context) {
  const GivenRoundsOptions& given = options.gossip;
  const auto belongs = [&options](const char* key, bool there, Over to, const char* over) {
    if (there && options.over != to)
      reject(key, fmt::format("is for \"over\": \"{}\" alone", over),
             fmt::format("Leave it out, or set \"over\": \"{}\"", over));
  };
  belongs("weights", given.weights.has_value(), Over::d_psgd, "d_psgd");
  belongs("budget", given.budget.has_value(), Over::matcha, "matcha");
  belongs("probabilities", given.probabilities.has_value(), Over::matcha, "matcha");
  if (options.over == Over::d_psgd)
    return std::make_unique<NeighbourRounds>(given.of_neighbours().rounds(*context.graph, *context.workload));
  if (options.over == Over::matcha)
    return std::make_unique<MatchingRounds>(
        given.of_matchings().rounds(*context.graph, *context.workload, context.seed));
  const auto meaningless = [](const char* key, bool there) {
    if (there)
      reject(key, "has no meaning over an all-reduce",
             "Leave it out, or set \"over\" to \"d_psgd\" or \"matcha\"");
  };
  meaningless("alpha", given.alpha.has_value());
  meaningless("coupling", given.coupling.has_value());
  return nullptr;
}

MadeAlgorithm make_nonblocking(const NonblockingOptions& options, const AlgorithmContext& context) {
  if (context.learner && context.learner->batch() < options.round.micro_batches)
    reject("micro_batches",
           fmt::format("is more than the {} samples of the learner's batch", context.learner->batch()),
           fmt::format("Give at most {}, or raise /learner/batch", context.learner->batch()));
  options.trigger.check(context.workers);
  return std::make_unique<NonblockingSgd>(options, gossip_of(options, context));
}

}  // namespace

std::vector<AlgorithmPlugin> nonblocking() {
  return {
      {{.name = "nonblocking",
        .summary =
            "the model is updated from the micro-batches that are finished when the first worker is through",
        .citation = "Non-blocking mini-batches (abstract, and a reconstruction: docs/papers/nonblocking.md)"},
       "one exchange of the gradient (over: allreduce) or of the model (d_psgd, matcha)",
       make_nonblocking}};
}

}  // namespace simsgd::algorithms

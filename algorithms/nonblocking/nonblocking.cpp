// Non-blocking SGD: a worker's batch is cut into M micro-batches, and the model is updated from those that
// are finished when a trigger ends the round, so that nobody waits for the slowest worker's whole batch.
//   round k, worker i:  G_i = sum of the gradients of c_i <= M micro-batches, all at the same x_i;
//                       then the update of round_update.hpp: over an all-reduce, D-PSGD or MATCHA
// "Non-blocking mini-batches": its abstract, and a reconstruction with every open choice as an option
// (docs/papers/nonblocking.md). At equal times a completion comes before SYNC, and the next micro-batch has
// then begun. "trigger": "none" is the blocking method, and so is M = 1 with "preempt": "finish". After a
// crash a worker over an all-reduce recomputes what it lost while the others wait; over D-PSGD and MATCHA it
// goes on with its checkpoint. Bytes per worker and round: those of the exchange, and SYNC, which has none.
#include "algorithms/nonblocking/nonblocking.hpp"

#include <fmt/format.h>

#include <array>

namespace simsgd {

namespace {

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
    worker.compute().recover_by(gossip_ ? Recovery::rejoin : Recovery::recompute);
    std::uint64_t next = 0;  // of the worker's micro-batches, M of each batch
    while (worker.next_step()) {
      if (!options_.carry) next = (worker.step() - 1) * most;
      const std::vector<Tensor> gradients = compute(worker, trigger, next);
      next += gradients.size();
      update->apply(gradients);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"sum of micro-batches' gradients", context.vector_bytes()}});
  }

 private:
  // The gradients of the micro-batches from number `next` on that are finished before the round ends.
  std::vector<Tensor> compute(Worker& worker, RoundTrigger& trigger, std::uint64_t next) const {
    const auto most = static_cast<std::size_t>(options_.round.micro_batches);
    std::vector<Tensor> gradients;
    const Handle<Nothing> over = trigger.begin(worker.step());
    if (over && worker.done(over)) return gradients;
    GradientOptions options;
    for (; gradients.size() < most; ++next) {
      options.part = {static_cast<int>(next % most), options_.round.micro_batches};
      options.batch = next / most + 1;
      const Handle<RunningGradient> gradient = worker.preemption().start(options);
      const bool cut_short = over && worker.wait_any(std::array<Awaited, 2>{gradient, over}) == 1;
      if (cut_short && options_.drop) {
        worker.preemption().cancel(gradient);
        return gradients;
      }
      worker.wait(gradient);
      gradients.push_back(worker.preemption().take(gradient));
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
  const auto belongs = [&options](const char* key, bool there, RoundsOver to, const char* over) {
    if (there && options.over != to)
      reject(key, fmt::format("is for \"over\": \"{}\" alone", over),
             fmt::format("Leave it out, or set \"over\": \"{}\"", over));
  };
  belongs("weights", given.weights.has_value(), RoundsOver::d_psgd, "d_psgd");
  belongs("budget", given.budget.has_value(), RoundsOver::matcha, "matcha");
  belongs("probabilities", given.probabilities.has_value(), RoundsOver::matcha, "matcha");
  if (options.over == RoundsOver::d_psgd)
    return std::make_unique<NeighbourRounds>(given.of_neighbours().rounds(*context.graph, *context.workload));
  if (options.over == RoundsOver::matcha)
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

}  // namespace

void NonblockingOptions::fields(Fields& f) {
  using Over = RoundsOver;
  trigger.fields(f);
  f.choice("over", over, {{"allreduce", Over::allreduce}, {"d_psgd", Over::d_psgd}, {"matcha", Over::matcha}},
           "A round is exchanged by all (allreduce), or with neighbours in a graph");
  graph_field(f, graph);
  gossip.fields(f);
  round.fields(f);
  f.choice("preempt", drop, {{"finish", false}, {"drop", true}},
           "The micro-batch in progress when the round ends is finished or dropped");
  f.flag("carry", carry, "Micro-batches that a round leaves undone go into the next one");
}

MadeAlgorithm make_nonblocking(const NonblockingOptions& options, const AlgorithmContext& context) {
  if (context.learner && context.learner->batch() < options.round.micro_batches)
    reject("micro_batches",
           fmt::format("is more than the {} samples of the learner's batch", context.learner->batch()),
           fmt::format("Give at most {}, or raise /learner/batch", context.learner->batch()));
  options.trigger.check(context.workers);
  return std::make_unique<NonblockingSgd>(options, gossip_of(options, context));
}

namespace algorithms {

std::vector<AlgorithmPlugin> nonblocking() {
  return {
      {{.name = "nonblocking",
        .summary =
            "the model is updated from the micro-batches that are finished when the first worker is through",
        .citation = "Non-blocking mini-batches (abstract, and a reconstruction: docs/papers/nonblocking.md)"},
       "one exchange of the gradient (over: allreduce) or of the model (d_psgd, matcha)",
       {.sends = {Traffic::gradient, Traffic::model}},
       make_nonblocking}};
}

}  // namespace algorithms

}  // namespace simsgd

// MATCHA: decentralised SGD that uses each matching of the graph only as often as it is worth its time.
//   X <- W(k) (X - eta U(G)),  W(k) = I - alpha sum over active matchings j of L_j
// Matching j is active with probability p_j, by a draw that all workers share; active matchings exchange one
// after another, so communication takes time in proportion to their number. p and alpha:
// algorithms/matching_probabilities.hpp. Wang, Sahu, Yang, Joshi, Kar, 2019, arXiv:1905.09435.
// Bytes per worker and step: on average the model to a share c_b (the budget) of its neighbours.
// After a crash a worker computes again what it lost; its neighbours wait.
#include "algorithms/gossip_rounds.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct MatchaOptions : MatchingRoundsOptions {
  RawValue graph;

  void fields(Fields& f) {
    MatchingRoundsOptions::fields(f);
    graph_field(f, graph);
  }
};

class Matcha final : public Algorithm {
 public:
  explicit Matcha(MatchingRounds rounds) : rounds_(std::move(rounds)) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      worker.replica().set(rounds_.mix(worker, worker.step(), worker.replica().parameters()));
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"received model", context.vector_bytes()}});
  }

 private:
  MatchingRounds rounds_;
};

}  // namespace

std::vector<AlgorithmPlugin> matcha() {
  return {{{.name = "matcha",
            .summary = "decentralised SGD over randomly activated matchings of a graph",
            .citation = "Wang et al., 2019, arXiv:1905.09435"},
           "the model to each neighbour whose matching is active: on average budget x degree x m",
           {.sends = {Traffic::model}},
           +[](const MatchaOptions& options, const AlgorithmContext& context) -> MadeAlgorithm {
             return std::make_unique<Matcha>(options.rounds(*context.graph, *context.workload, context.seed));
           }}};
}

}  // namespace simsgd::algorithms

// MATCHA: decentralised SGD that uses each matching of the graph only as often as it is worth its time.
//   X <- W(k) (X - eta U(G)),  W(k) = I - alpha sum over active matchings j of L_j
// Matching j is active with probability p_j, by a draw that all workers share; active matchings exchange one
// after another, so communication takes time in proportion to their number. p and alpha:
// services/matching_probabilities. Wang, Sahu, Yang, Joshi, Kar, 2019, arXiv:1905.09435.
// Bytes per worker and step: on average the model to a share c_b (the budget) of its neighbours.
// After a crash a worker computes again what it lost; its neighbours wait.
#include "algorithms/gossip/matcha.hpp"

#include "algorithms/gossip_rounds.hpp"

namespace simsgd {

namespace {

class Matcha final : public Algorithm {
 public:
  explicit Matcha(MatchingRounds rounds) : rounds_(std::move(rounds)) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      worker.apply(worker.compute_gradient());
      worker.set_model(rounds_.mix(worker, worker.step(), worker.model()));
    }
  }

 private:
  MatchingRounds rounds_;
};

}  // namespace

AlgorithmPlugin matcha_plugin() {
  Json properties = matching_rounds_schema();
  properties["graph"] = graph_schema("ring");
  return {
      {"matcha",
       "decentralised SGD over randomly activated matchings of a graph",
       "Wang et al., 2019, arXiv:1905.09435",
       properties,
       {}},
      "the model to each neighbour whose matching is active: on average budget x degree x m",
      [](const Parameters& parameters, const AlgorithmContext& context) -> std::unique_ptr<const Algorithm> {
        return std::make_unique<Matcha>(
            matching_rounds_from(parameters, *context.graph, *context.workload, context.seed));
      }};
}

}  // namespace simsgd

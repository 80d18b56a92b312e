// D-PSGD: every worker averages its model with its neighbours' in every step.
//   x_i <- sum_j w_ij x_j - eta U(g_i(x_i)),  U the local optimizer; momentum stays local
// Lian, Zhang, Zhang, Hsieh, Zhang, Liu, "Can Decentralized Algorithms Outperform Centralized Algorithms?",
// NeurIPS 2017, arXiv:1705.09056, Algorithm 1. Bytes per worker and step: the model to each neighbour.
// After a crash a worker computes again what it lost; its neighbours wait.
#include "algorithms/gossip/d_psgd.hpp"

#include "algorithms/gossip_rounds.hpp"

namespace simsgd {

namespace {

class DPsgd final : public Algorithm {
 public:
  explicit DPsgd(NeighbourRounds rounds) : rounds_(std::move(rounds)) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      const NeighbourRounds::Result result = rounds_.mix_while_computing(worker);
      worker.set_model(result.mixed);
      worker.apply(result.gradient);
    }
  }

 private:
  NeighbourRounds rounds_;
};

}  // namespace

AlgorithmPlugin d_psgd_plugin() {
  Json properties = neighbour_rounds_schema();
  properties["graph"] = graph_schema("ring");
  return {
      {"d_psgd",
       "decentralised SGD: every worker averages its model with its neighbours' in every step",
       "Lian et al., NeurIPS 2017, arXiv:1705.09056",
       properties,
       {}},
      "the model to each neighbour: 2 m on a ring",
      [](const Parameters& parameters, const AlgorithmContext& context) -> std::unique_ptr<const Algorithm> {
        return std::make_unique<DPsgd>(neighbour_rounds_from(parameters, *context.graph, *context.workload));
      }};
}

}  // namespace simsgd

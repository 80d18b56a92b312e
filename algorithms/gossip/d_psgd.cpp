// D-PSGD: every worker averages its model with its neighbours' in every step.
//   x_i <- sum_j w_ij x_j - eta U(g_i(x_i)),  U the local optimizer; momentum stays local
// Lian, Zhang, Zhang, Hsieh, Zhang, Liu, "Can Decentralized Algorithms Outperform Centralized Algorithms?",
// NeurIPS 2017, arXiv:1705.09056, Algorithm 1. Bytes per worker and step: the model to each neighbour.
// After a crash a worker computes again what it lost; its neighbours wait.
#include "algorithms/gossip_rounds.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct DPsgdOptions : NeighbourRoundsOptions {
  RawValue graph;

  void fields(Fields& f) {
    NeighbourRoundsOptions::fields(f);
    graph_field(f, graph);
  }
  void complete(const AlgorithmContext& context) {
    if (context.graph != nullptr) NeighbourRoundsOptions::complete(*context.graph);
  }
};

class DPsgd final : public Algorithm {
 public:
  explicit DPsgd(NeighbourRounds rounds) : rounds_(std::move(rounds)) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      const NeighbourRounds::Result result = rounds_.mix_while_computing(worker);
      worker.replica().set(result.mixed);
      worker.replica().apply(result.gradient);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"received model", context.vector_bytes()}});
  }

 private:
  NeighbourRounds rounds_;
};

}  // namespace

std::vector<AlgorithmPlugin> d_psgd() {
  return {
      {{.name = "d_psgd",
        .summary = "decentralised SGD: every worker averages its model with its neighbours' in every step",
        .citation = "Lian et al., NeurIPS 2017, arXiv:1705.09056"},
       "the model to each neighbour: 2 m on a ring",
       {.sends = {Traffic::model}},
       +[](const DPsgdOptions& options, const AlgorithmContext& context) -> MadeAlgorithm {
         return std::make_unique<DPsgd>(options.rounds(*context.graph, *context.workload));
       }}};
}

}  // namespace simsgd::algorithms

// The parameters of gossip rounds, as scenarios write them.
#include <fmt/format.h>

#include "algorithms/gossip_rounds.hpp"
#include "algorithms/matching_probabilities.hpp"

namespace simsgd {

namespace {

void refuse_unknown_eigenvalues(const LogicalGraph& graph, const std::string& key) {
  if (!graph.laplacian_eigenvalues.empty()) return;
  Parameters::reject(
      key, fmt::format("needs the eigenvalues of a graph of {} workers, which are not known", graph.workers),
      "Give alpha, or use a graph with a closed form, such as ring, torus or exponential");
}

MixingWeights weights_from(const Parameters& parameters, const LogicalGraph& graph) {
  const bool laplacian = parameters.text("weights", "metropolis") == "laplacian";
  if (!laplacian) {
    if (parameters.has("alpha"))
      Parameters::reject("alpha", "has no effect with Metropolis weights",
                         "Remove it, or set weights to laplacian");
    return metropolis_weights(graph);
  }
  if (parameters.has("alpha")) return laplacian_weights(graph, parameters.number("alpha"));
  if (graph.workers < 2) return laplacian_weights(graph, 0);
  refuse_unknown_eigenvalues(graph, "weights");
  return laplacian_weights(graph, best_laplacian_alpha(graph));
}

Json alpha_schema(const std::string& description) {
  return {{"type", "number"}, {"exclusiveMinimum", 0}, {"description", description}};
}

std::vector<double> probabilities_from(const Parameters& parameters, const LogicalGraph& graph,
                                       double budget) {
  const std::size_t matchings = graph.matchings.size();
  if (parameters.text("probabilities", "optimised") == "uniform" || budget == 1 || graph.workers < 2)
    return std::vector<double>(matchings, budget);
  if (graph.workers > kMostForProbabilities)
    Parameters::reject("probabilities",
                       fmt::format("can be optimised for at most {} workers, and there are {}",
                                   kMostForProbabilities, graph.workers),
                       "Set probabilities to uniform");
  return optimise_probabilities(graph, budget).probabilities;
}

double alpha_from(const Parameters& parameters, const LogicalGraph& graph,
                  const std::vector<double>& probabilities) {
  if (parameters.has("alpha")) return parameters.number("alpha");
  if (graph.workers < 2) return 0;
  if (graph.workers > kMostForProbabilities) refuse_unknown_eigenvalues(graph, "name");
  return best_alpha(graph, probabilities);
}

}  // namespace

Json graph_schema(const std::string& otherwise) {
  return {{"x-plugin", "graph"},
          {"default", {{"name", otherwise}}},
          {"description", "who averages with whom: one of `simsgd list graphs`"}};
}

Json neighbour_rounds_schema() {
  Json schema = coupling_schema();
  schema["weights"] = {{"enum", {"metropolis", "laplacian"}},
                       {"default", "metropolis"},
                       {"description",
                        "weights of neighbours: 1 / (1 + the greater of both degrees), a third each on a "
                        "ring; or alpha for all"}};
  schema["alpha"] = alpha_schema(
      "weight of each neighbour with laplacian weights; by default 2 / (second + last eigenvalue of the "
      "graph's "
      "Laplacian), which mixes fastest");
  schema.update(model_fusion_schema());
  return schema;
}

NeighbourRounds neighbour_rounds_from(const Parameters& parameters, const LogicalGraph& graph,
                                      const Workload& workload) {
  return NeighbourRounds(graph, {.weights = weights_from(parameters, graph),
                                 .coupling = coupling_from(parameters),
                                 .buckets = make_buckets(workload, model_fusion_from(parameters)),
                                 .bytes_per_parameter = workload.bytes_per_parameter});
}

Json matching_rounds_schema() {
  Json schema = coupling_schema();
  schema["coupling"]["default"] = "global";
  schema["budget"] = {{"type", "number"},
                      {"exclusiveMinimum", 0},
                      {"maximum", 1},
                      {"default", 0.5},
                      {"description", "mean share of the matchings that are active in a round"}};
  schema["probabilities"] = {
      {"enum", {"optimised", "uniform"}},
      {"default", "optimised"},
      {"description",
       "of the matchings: those for which the mean graph is connected best, or the budget for each"}};
  schema["alpha"] =
      alpha_schema("weight of each active neighbour; by default the one that mixes fastest on average");
  return schema;
}

MatchingRounds matching_rounds_from(const Parameters& parameters, const LogicalGraph& graph,
                                    const Workload& workload, std::uint64_t seed) {
  const std::vector<double> probabilities =
      probabilities_from(parameters, graph, parameters.number("budget", 0.5));
  const Coupling coupling = parameters.has("coupling") ? coupling_from(parameters) : Coupling::global;
  return MatchingRounds(graph, {.probabilities = probabilities,
                                .alpha = alpha_from(parameters, graph, probabilities),
                                .coupling = coupling,
                                .bytes = workload.model_bytes(),
                                .seed = seed});
}

}  // namespace simsgd

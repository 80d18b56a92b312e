// The options of gossip rounds, as scenarios write them.
#include <fmt/format.h>

#include "algorithms/gossip_rounds.hpp"
#include "algorithms/matching_probabilities.hpp"

namespace simsgd {

namespace {

[[noreturn]] void refuse_unknown_eigenvalues(const LogicalGraph& graph, const std::string& key) {
  reject(key,
         fmt::format("needs the eigenvalues of a graph of {} workers, which are not known", graph.workers),
         "Give alpha, or use a graph with a closed form, such as ring, torus or exponential");
}

MixingWeights weights_of(const NeighbourRoundsOptions& options, const LogicalGraph& graph) {
  if (options.weights == NeighbourWeights::metropolis) {
    if (options.alpha)
      reject("alpha", "has no effect with Metropolis weights", "Remove it, or set weights to laplacian");
    return metropolis_weights(graph);
  }
  if (options.alpha) return laplacian_weights(graph, *options.alpha);
  if (graph.workers < 2) return laplacian_weights(graph, 0);
  refuse_unknown_eigenvalues(graph, "weights");
}

std::vector<double> probabilities_of(const MatchingRoundsOptions& options, const LogicalGraph& graph) {
  const std::size_t matchings = graph.matchings.size();
  if (options.probabilities == MatchingUse::uniform || options.budget == 1 || graph.workers < 2)
    return std::vector<double>(matchings, options.budget);
  if (graph.workers > kMostForProbabilities)
    reject("probabilities",
           fmt::format("can be optimised for at most {} workers, and there are {}", kMostForProbabilities,
                       graph.workers),
           "Set probabilities to uniform");
  return optimise_probabilities(graph, options.budget).probabilities;
}

double alpha_of(const MatchingRoundsOptions& options, const LogicalGraph& graph,
                const std::vector<double>& probabilities) {
  if (options.alpha) return *options.alpha;
  if (graph.workers < 2) return 0;
  if (graph.workers > kMostForProbabilities && graph.laplacian_eigenvalues.empty())
    refuse_unknown_eigenvalues(graph, "name");
  return best_alpha(graph, probabilities);
}

// Fields of more than one struct: Value is the type or a std::optional of it.

template <class Value>
void weights_field(Fields& f, Value& value) {
  f.choice<NeighbourWeights>(
      "weights", value,
      {{"metropolis", NeighbourWeights::metropolis}, {"laplacian", NeighbourWeights::laplacian}},
      "A neighbour weighs 1 / (1 + the greater of both degrees), a third on a ring (metropolis), or alpha (laplacian)");
}

void neighbour_alpha_field(Fields& f, std::optional<double>& alpha) {
  f.number("alpha", alpha, "With laplacian weights each neighbour has this weight")
      .above(0)
      .by_rule("2 / (second + last eigenvalue of the graph's Laplacian), which mixes fastest");
}

template <class Value>
void budget_field(Fields& f, Value& value) {
  f.number("budget", value, "On average this share of the matchings is active in a round")
      .above(0)
      .at_most(1);
}

template <class Value>
void probabilities_field(Fields& f, Value& value) {
  f.choice<MatchingUse>(
      "probabilities", value, {{"optimised", MatchingUse::optimised}, {"uniform", MatchingUse::uniform}},
      "Matchings are active with the probabilities for which the mean graph is connected best (optimised), or each with the budget (uniform)");
}

}  // namespace

void graph_field(Fields& f, RawValue& graph) {
  f.plugin_of("graph", "graph", graph, "ring",
              "The graph says who averages with whom: one of `simsgd list graphs`");
}

void NeighbourRoundsOptions::fields(Fields& f) {
  coupling_field(f, coupling);
  weights_field(f, weights);
  neighbour_alpha_field(f, alpha);
  fusion.fields(f);
}

void NeighbourRoundsOptions::complete(const LogicalGraph& graph) {
  const bool counts = weights == NeighbourWeights::laplacian && graph.workers > 1;
  if (counts && !alpha && !graph.laplacian_eigenvalues.empty()) alpha = best_laplacian_alpha(graph);
}

NeighbourRounds NeighbourRoundsOptions::rounds(const LogicalGraph& graph, const Workload& workload) const {
  NeighbourRoundsOptions completed = *this;
  completed.complete(graph);
  return NeighbourRounds(graph, {.weights = weights_of(completed, graph),
                                 .coupling = coupling,
                                 .buckets = make_buckets(workload, fusion),
                                 .bytes_per_parameter = workload.bytes_per_parameter});
}

void MatchingRoundsOptions::fields(Fields& f) {
  coupling_field(f, coupling);
  budget_field(f, budget);
  probabilities_field(f, probabilities);
  f.number("alpha", alpha, "Each active neighbour has this weight")
      .above(0)
      .by_rule("the one that mixes fastest on average");
}

MatchingRounds MatchingRoundsOptions::rounds(const LogicalGraph& graph, const Workload& workload,
                                             std::uint64_t seed) const {
  const std::vector<double> each = probabilities_of(*this, graph);
  return MatchingRounds(graph, {.probabilities = each,
                                .alpha = alpha_of(*this, graph, each),
                                .coupling = coupling,
                                .bytes = workload.model_bytes(),
                                .seed = seed});
}

void GivenRoundsOptions::fields(Fields& f) {
  coupling_field(f, coupling);
  weights_field(f, weights);
  neighbour_alpha_field(f, alpha);
  budget_field(f, budget);
  probabilities_field(f, probabilities);
}

NeighbourRoundsOptions GivenRoundsOptions::of_neighbours() const {
  NeighbourRoundsOptions options;
  options.coupling = coupling.value_or(options.coupling);
  options.weights = weights.value_or(options.weights);
  options.alpha = alpha;
  return options;
}

MatchingRoundsOptions GivenRoundsOptions::of_matchings() const {
  MatchingRoundsOptions options;
  options.coupling = coupling.value_or(options.coupling);
  options.budget = budget.value_or(options.budget);
  options.probabilities = probabilities.value_or(options.probabilities);
  options.alpha = alpha;
  return options;
}

}  // namespace simsgd

#include "algorithms/gossip_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/matching_probabilities.hpp"
#include "sim/base/random.hpp"

namespace simsgd {

namespace {

/// The weighted sum of the neighbours' contributions; empty without any.
MemberEffect neighbours_sum(const LogicalGraph& graph, const MixingWeights& weights) {
  struct Table {
    std::vector<std::vector<int>> neighbours;
    std::vector<std::vector<double>> weights;
  };
  const auto table = std::make_shared<const Table>(Table{graph.neighbours, weights.neighbour});
  return [table](Executor& executor, std::int32_t group_rank,
                 const std::vector<Tensor>& contributions) -> Tensor {
    const auto i = static_cast<std::size_t>(group_rank);
    if (!contributions[i]) return {};
    std::vector<Tensor> terms;
    for (const int j : table->neighbours[i]) terms.push_back(contributions[static_cast<std::size_t>(j)]);
    return terms.empty() ? Tensor{} : linear_combination(executor, table->weights[i], terms);
  };
}

Exchange::Settings exchange_settings(const LogicalGraph& graph, Coupling coupling, double bytes) {
  return {.name = "gossip on " + graph.name, .ranks = graph.workers, .bytes = bytes, .coupling = coupling};
}

double bytes_of(const Buckets& buckets, double bytes_per_parameter) {
  double parameters = 0;
  for (const Bucket& bucket : buckets.buckets) parameters += bucket.parameters;
  return parameters * bytes_per_parameter;
}

}  // namespace

// D-PSGD
// -----------------------------------------------------------------------------------------------------------

NeighbourRounds::NeighbourRounds(const LogicalGraph& graph, const Settings& settings)
    : own_weights_(settings.weights.own),
      whole_(exchange_settings(graph, settings.coupling,
                               bytes_of(settings.buckets, settings.bytes_per_parameter)),
             edge_messages(graph), neighbours_sum(graph, settings.weights)),
      pieces_(exchange_settings(graph, settings.coupling, 0), edge_messages(graph), settings.buckets,
              settings.bytes_per_parameter, neighbours_sum(graph, settings.weights)) {}

// The own model does not travel, so it is not rounded to what messages carry.
Tensor NeighbourRounds::add_own(Worker& worker, const Tensor& model, const Tensor& received) const {
  if (!received) return model;
  return linear_combination(worker.executor(), {own_weights_[static_cast<std::size_t>(worker.rank())], 1.0},
                            {model, received});
}

Tensor NeighbourRounds::mix(Worker& worker, std::uint64_t, const Tensor& model) const {
  return add_own(worker, model, whole_.run(worker, model));
}

NeighbourRounds::Result NeighbourRounds::mix_while_computing(Worker& worker) const {
  const Tensor model = worker.replica().parameters();
  const PiecewiseExchange::Result result = pieces_.run(worker, [&](const Tensor&, const Bucket& piece) {
    if (piece.begin_share == 0 && piece.end_share == 1) return model;
    const auto [begin, end] = entries_of(worker, piece);
    return slice(worker.executor(), model, begin, end);
  });
  return {result.gradient, add_own(worker, model, concatenate(worker.executor(), result.received))};
}

// MATCHA
// -----------------------------------------------------------------------------------------------------------

MatchingRounds::MatchingRounds(const LogicalGraph& graph, const Settings& settings) : settings_(settings) {
  for (const auto& edges : graph.matchings) matchings_.push_back(make_matching(graph, edges));
  Schedule gate;
  gate.name = "wait for all";
  gate.ranks = graph.workers;
  gate.together = true;
  gate_ = std::make_shared<const Schedule>(std::move(gate));
}

MatchingRounds::Matching MatchingRounds::make_matching(const LogicalGraph& graph,
                                                       const std::vector<LogicalGraph::Edge>& edges) const {
  Matching matching;
  matching.partner.assign(static_cast<std::size_t>(graph.workers), -1);
  for (const auto& [a, b] : edges) {
    matching.partner[static_cast<std::size_t>(a)] = b;
    matching.partner[static_cast<std::size_t>(b)] = a;
    matching.members.insert(matching.members.end(), {a, b});
  }
  std::sort(matching.members.begin(), matching.members.end());
  std::vector<std::int32_t> to;  // places in the group
  for (const int member : matching.members) {
    const int partner = matching.partner[static_cast<std::size_t>(member)];
    const auto group_rank = std::lower_bound(matching.members.begin(), matching.members.end(), partner);
    to.push_back(static_cast<std::int32_t>(group_rank - matching.members.begin()));
  }
  Schedule schedule;
  schedule.name = "a matching of " + graph.name;
  schedule.blocks = schedule.ranks = static_cast<int>(to.size());
  schedule.all_wait_for_all = false;
  schedule.stages = {make_stage(to, settings_.bytes, settings_.bytes)};
  matching.schedule = std::make_shared<const Schedule>(std::move(schedule));
  matching.effect = [to](Executor&, std::int32_t group_rank, const std::vector<Tensor>& contributions) {
    return contributions[static_cast<std::size_t>(to[static_cast<std::size_t>(group_rank)])];
  };
  return matching;
}

std::vector<char> MatchingRounds::active(std::uint64_t round) const {
  Stream draws({.seed = settings_.seed, .purpose = Purpose::gossip, .entity = 0, .step = round});
  std::vector<char> flags;
  for (const double probability : settings_.probabilities)
    flags.push_back(static_cast<char>(draws.uniform() < probability));
  return flags;
}

void MatchingRounds::wait_for_all(Worker& worker) const {
  CustomCollective collective;
  collective.traffic = Traffic::control;
  collective.messages = gate_;
  worker.wait(worker.collectives().start(std::move(collective)));
}

Tensor MatchingRounds::exchange(Worker& worker, const Matching& matching, const Tensor& model) const {
  CustomCollective collective;
  collective.bytes = settings_.bytes;
  collective.traffic = Traffic::model;
  collective.contribution = model;
  if (model) collective.member_effect = matching.effect;
  collective.group = worker.collectives().group(matching.members);
  collective.messages = matching.schedule;
  return worker.collectives().run(std::move(collective));
}

Tensor MatchingRounds::mix(Worker& worker, std::uint64_t round, const Tensor& model) const {
  if (settings_.coupling == Coupling::global) wait_for_all(worker);
  const std::vector<char> flags = active(round);
  std::vector<Tensor> terms = {model};
  for (std::size_t m = 0; m < matchings_.size(); ++m)
    if (flags[m] && matchings_[m].partner[static_cast<std::size_t>(worker.rank())] >= 0)
      terms.push_back(exchange(worker, matchings_[m], model));
  if (!model || terms.size() == 1) return model;
  std::vector<double> weights(terms.size(), settings_.alpha);
  weights.front() = 1 - settings_.alpha * static_cast<double>(terms.size() - 1);
  return linear_combination(worker.executor(), weights, terms);
}

// The options of gossip rounds, as scenarios write them.

namespace {

[[noreturn]] void refuse_unknown_eigenvalues(const LogicalGraph& graph, const std::string& key) {
  reject(
      key,
      fmt::format("needs the eigenvalues of the graph, which are not computed for {} workers", graph.workers),
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
           fmt::format("can be optimised for at most {} workers, and this run has {}", kMostForProbabilities,
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
  f.choice(
      "weights", value,
      {{"metropolis", NeighbourWeights::metropolis}, {"laplacian", NeighbourWeights::laplacian}},
      "A neighbour weighs 1 / (1 + the greater of both degrees), which is 1/3 on a ring (metropolis), or alpha (laplacian)");
}

void neighbour_alpha_field(Fields& f, std::optional<double>& alpha) {
  f.number("alpha", alpha, "Each neighbour has this weight, with laplacian weights")
      .above(0)
      .by_rule("2 / (second + last eigenvalue of the graph's Laplacian), which mixes fastest");
}

template <class Value>
void budget_field(Fields& f, Value& value) {
  f.number("budget", value, "Share of the matchings that is active in a round, on average")
      .above(0)
      .at_most(1);
}

template <class Value>
void probabilities_field(Fields& f, Value& value) {
  f.choice(
      "probabilities", value, {{"optimised", MatchingUse::optimised}, {"uniform", MatchingUse::uniform}},
      "How likely each matching is active: so that the mean graph is connected best (optimised), or as the budget says (uniform)");
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

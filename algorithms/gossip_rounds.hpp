// Gossip rounds: synchronised averaging between neighbours of a logical graph, for algorithms that do
// something else between the rounds (d_psgd, matcha, nonblocking).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/exchange.hpp"
#include "algorithms/mixing.hpp"

namespace simsgd {

/// A rule by which models are mixed, round after round. One object for all ranks.
class GossipRounds {
 public:
  virtual ~GossipRounds() = default;
  /// Round `round` (from 1) of this worker, which contributes `model`: what it has after the round. Blocks.
  /// Every worker runs every round, in order.
  virtual Tensor mix(Worker& worker, std::uint64_t round, const Tensor& model) const = 0;
  /// Whether the rule puts the gradient step before the mixing: X <- W (X - eta G); else X <- W X - eta G.
  virtual bool steps_before_mixing() const = 0;
};

/// D-PSGD: all edges in every round, at once. x_i <- sum_j w_ij x_j.
class NeighbourRounds final : public GossipRounds {
 public:
  struct Settings {
    MixingWeights weights;
    Coupling coupling = Coupling::neighbour;
    Buckets buckets;  ///< of a round that overlaps with the backward pass
    double bytes_per_parameter = 4;
  };
  NeighbourRounds(const LogicalGraph& graph, const Settings& settings);

  Tensor mix(Worker& worker, std::uint64_t round, const Tensor& model) const override;
  bool steps_before_mixing() const override { return false; }
  /// Computes the step's gradient, and runs a round of the worker's model in pieces meanwhile. Blocks.
  struct Result {
    Tensor gradient, mixed;
  };
  Result mix_while_computing(Worker& worker) const;

 private:
  Tensor add_own(Worker& worker, const Tensor& model, const Tensor& received) const;

  std::vector<double> own_weights_;
  Exchange whole_;
  PiecewiseExchange pieces_;
};

/// MATCHA: in round k each matching is active with its probability, by a draw that all workers share; active
/// matchings exchange one after another. x_i <- x_i + alpha sum over active neighbours j of (x_j - x_i).
class MatchingRounds final : public GossipRounds {
 public:
  struct Settings {
    std::vector<double> probabilities;  ///< of each matching
    double alpha = 0;
    Coupling coupling = Coupling::global;
    double bytes = 0;  ///< of a model
    std::uint64_t seed = 1;
  };
  MatchingRounds(const LogicalGraph& graph, const Settings& settings);

  Tensor mix(Worker& worker, std::uint64_t round, const Tensor& model) const override;
  bool steps_before_mixing() const override { return true; }
  /// Whether each matching is active in `round`.
  std::vector<char> active(std::uint64_t round) const;

 private:
  struct Matching {
    std::vector<int> members;                  // ranks with an edge, ascending
    std::vector<std::int32_t> partner;         // by rank, -1: none
    std::shared_ptr<const Schedule> schedule;  // among the members; shared with the machine
    MemberEffect effect;
  };
  Matching make_matching(const LogicalGraph& graph, const std::vector<LogicalGraph::Edge>& edges) const;
  Tensor exchange(Worker& worker, const Matching& matching, const Tensor& model) const;
  void wait_for_all(Worker& worker) const;

  Settings settings_;
  std::vector<Matching> matchings_;
  std::shared_ptr<const Schedule> gate_;  // shared with the machine
};

/// The key "graph" of an algorithm. The scenario language makes the graph that it names.
void graph_field(Fields& f, RawValue& graph);

enum class NeighbourWeights : std::uint8_t { metropolis, laplacian };
enum class MatchingUse : std::uint8_t { optimised, uniform };

/// What d_psgd is made of, for algorithms that run over it. Throws ParameterError.
struct NeighbourRoundsOptions {
  Coupling coupling = Coupling::neighbour;
  NeighbourWeights weights = NeighbourWeights::metropolis;
  std::optional<double> alpha;
  ModelFusion fusion;

  void fields(Fields& f);
  /// The alpha that the graph gives, where it counts and is known.
  void complete(const LogicalGraph& graph);
  NeighbourRounds rounds(const LogicalGraph& graph, const Workload& workload) const;
};

/// What matcha is made of, likewise.
struct MatchingRoundsOptions {
  Coupling coupling = Coupling::global;
  double budget = 0.5;
  MatchingUse probabilities = MatchingUse::optimised;
  std::optional<double> alpha;

  void fields(Fields& f);
  MatchingRounds rounds(const LogicalGraph& graph, const Workload& workload, std::uint64_t seed) const;
};

/// Both, where another key says which of them there are rounds of: only what the file gives.
struct GivenRoundsOptions {
  std::optional<Coupling> coupling;
  std::optional<NeighbourWeights> weights;
  std::optional<double> alpha, budget;
  std::optional<MatchingUse> probabilities;

  void fields(Fields& f);
  NeighbourRoundsOptions of_neighbours() const;
  MatchingRoundsOptions of_matchings() const;
};

}  // namespace simsgd

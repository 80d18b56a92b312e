// Non-blocking SGD for those that are a choice of its options: dropcompute.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/activation.hpp"
#include "algorithms/gossip_rounds.hpp"
#include "algorithms/plugin.hpp"
#include "sim/base/fields.hpp"
#include "sim/worker.hpp"

namespace simsgd {

// How the micro-batches that the workers finished in a round change their models. c_i of M micro-batches of
// worker i of n, G_i the sum of their mean gradients, U the optimizer:
//   sample   x <- x - eta U(sum_i G_i / (n M)): the mean over samples, eta scaled by the share of
//            micro-batches that were finished
//   worker   x <- x - eta U(mean of G_i / c_i over the workers with c_i > 0); nobody: a gradient of 0
// Over gossip, g_i = G_i / M (sample) or G_i / c_i (worker; 0 if c_i is 0) takes the place of the gradient in
// the rule: D-PSGD x_i <- sum_j w_ij x_j - eta U(g_i), MATCHA X <- W(k) (X - eta U(g)).

enum class Weighting : std::uint8_t { sample, worker };

struct RoundSettings {
  int micro_batches = 1;  ///< M
  Weighting weighting = Weighting::sample;

  void fields(Fields& f);
};

/// One rank's part in the exchange that ends every round.
class RoundUpdate {
 public:
  virtual ~RoundUpdate() = default;
  /// Exchanges and changes the worker's model. `gradients` are those of the micro-batches that it finished.
  virtual void apply(const std::vector<Tensor>& gradients) = 0;
};

/// All-reduce of [G_i ; c_i]. Bytes per worker and round: those of the model and one number more, 2 (P-1)/P
/// of them by a ring.
std::unique_ptr<RoundUpdate> update_over_allreduce(Worker& worker, const RoundSettings& settings);

/// A round of gossip, which must outlive this. Bytes per worker and round: the gossip's.
std::unique_ptr<RoundUpdate> update_over_gossip(Worker& worker, const RoundSettings& settings,
                                                const GossipRounds& gossip);

// What ends a round of micro-batches before everybody has finished it, for everybody.
//   none      nothing: all finish
//   first     the first worker that finishes sends SYNC to all (algorithms/activation.hpp: ceil(log2 P)
//   messages) kth       finishers report to rank 0, which sends SYNC when k have: one message more on the way
//   deadline  every worker's own clock, so long after it began the round; no message
// A SYNC carries the number of its round, from 1. Several may send the one of a round; one that arrives when
// the round is over is ignored, one of a later round ends the earlier ones too.

struct TriggerSettings {
  enum class Rule : std::uint8_t { none, first, deadline, kth } rule = Rule::first;
  std::optional<double> deadline_s;  ///< there with Rule::deadline alone
  std::optional<int> k;              ///< there with Rule::kth alone

  void fields(Fields& f);
  /// Throws ParameterError where they do not fit together, or `workers`.
  void check(int workers) const;
};

/// One rank's side.
class RoundTrigger {
 public:
  RoundTrigger(Worker& worker, const TriggerSettings& settings);

  /// Begins the worker's next round. What it returns is complete once the round has been ended; null where
  /// nothing ends it.
  Handle<Nothing> begin(std::uint64_t round);
  /// This rank has finished its part of the round.
  void finished();

 private:
  class Rank;
  std::shared_ptr<Rank> rank_;  // shared with handlers, which pass on what comes late
};

/// How a round is exchanged.
enum class RoundsOver : std::uint8_t { allreduce, d_psgd, matcha };

struct NonblockingOptions {
  RoundsOver over = RoundsOver::allreduce;
  RawValue graph;
  GivenRoundsOptions gossip;
  RoundSettings round{.micro_batches = 8};
  TriggerSettings trigger;
  bool drop = false;
  bool carry = true;

  void fields(Fields& f);
};

/// Throws ParameterError where the options do not fit together, or the context.
MadeAlgorithm make_nonblocking(const NonblockingOptions& options, const AlgorithmContext& context);

}  // namespace simsgd

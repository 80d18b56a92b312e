// The recurrence over steps and ranks that `steps` costs a schedule with: no events, about a nanosecond per
// message.
//   message i -> j of a stage:  u = max(t_i, t_j) + alpha_ij + bytes beta_ij (+ jitter)
//   end of the stage at i:      t_i <- max over its messages of u, + reduction arithmetic if it received
// Exact where no link carries two messages at once; equal to `messages` then (tests/engine/fidelity).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/distribution.hpp"
#include "sim/cluster/token_bucket.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

/// What the messages of one stage cost, indexed by the sender's place in the group.
struct StageCosts {
  const Stage* stage = nullptr;
  std::vector<double> alpha_s;
  std::vector<double> transfer_s;  ///< bytes * beta
  double reduce_s = 0;             ///< of each receiver
  bool uniform = true;             ///< all alpha + transfer equal
  bool permutation = true;         ///< every rank sends and receives
  /// Ranks in the order of their cycles (i, to[i], to[to[i]], ...), for permutations; and where each cycle
  /// begins.
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> cycle_begin;
  std::vector<double> jitter_factors;  ///< by sender; empty: all 1
  std::vector<double> wire_bytes;      ///< by sender, that flow; empty: those of the stage
  /// What each message gets of its links while all flow; 0: ranks that begin the stage together do not end it
  /// together, at the same instant.
  double even_share_Bps = 0;
  /// By sender: which of the operation's token buckets its message passes, -1: none; empty: nobody's does.
  /// Then alpha and transfer are those of an empty one that fills as fast as the message flows.
  std::vector<std::int32_t> buckets;
  TokenBucket bucket;

  double jitter_factor(std::size_t sender) const {
    return jitter_factors.empty() ? 1 : jitter_factors[sender];
  }
  double wire(std::size_t sender) const { return wire_bytes.empty() ? stage->bytes : wire_bytes[sender]; }
  /// All messages begin to flow together, with the same bytes.
  bool is_alike() const {
    const auto [least, most] = std::minmax_element(alpha_s.begin(), alpha_s.end());
    return permutation && wire_bytes.empty() && *most <= *least * (1 + 1e-12);
  }
  double message_s(std::size_t sender) const { return alpha_s[sender] + transfer_s[sender]; }
  /// With that share of the links, in a row of such messages.
  double shared_message_s(std::size_t sender, double share_Bps) const {
    if (buckets.empty() || buckets[sender] < 0) return alpha_s[sender] + wire(sender) / share_Bps;
    return TokenBucket{bucket.bytes, bucket.Bps, share_Bps}.sustained_s(alpha_s[sender], wire(sender));
  }
  /// Of each message of an aggregated row but the first: the latency that its flow does not hide.
  double latency_s(std::size_t sender) const {
    if (buckets.empty() || buckets[sender] < 0) return alpha_s[sender];
    return bucket.sustained_s(alpha_s[sender], wire(sender)) - wire(sender) / bucket.fill_Bps;
  }
};

StageCosts make_stage_costs(const Stage& stage, std::vector<double> alpha_s, std::vector<double> transfer_s,
                            double reduce_s);

/// Extra latency of each message of one operation: a function of (operation, repetition of a stage, sender),
/// so that every fidelity sees the same draws. A quantile table of 2^12 intervals, linear inside, exact in
/// the outermost two.
class JitterTable {
 public:
  explicit JitterTable(const Distribution& distribution);
  /// The quantile at (bits + 1/2) / 2^32.
  double draw(std::uint32_t bits) const;
  /// Quantiles at i / 2^12; those at 0 and 1 are 0 and not used.
  const double* intervals() const { return table_.data(); }

 private:
  Distribution distribution_;
  std::vector<double> table_;
};

struct JitterDraws {
  const JitterTable* table = nullptr;
  std::uint64_t seed = 1;
  std::uint32_t channel = 0;    ///< which sequence of operations
  std::uint64_t operation = 0;  ///< number of the operation in its channel

  /// Jitter of the message that `sender` sends in step `step` of the operation (stages and repetitions
  /// counted on).
  double at(std::uint32_t step, std::uint32_t sender) const;
  /// The same for all senders 0 ... n-1.
  void row(std::uint32_t step, std::vector<double>& jitter) const;
};

/// Advances every rank's time through a stage (all its repetitions). `step` counts the steps done in this
/// operation.
void advance_stage(const StageCosts& costs, const JitterDraws* jitter, std::uint32_t& step,
                   std::vector<double>& t);

/// The same of a stage with token buckets, message by message: what they hold goes on from stage to stage.
void advance_stage(const StageCosts& costs, const JitterDraws* jitter, std::uint32_t& step,
                   std::vector<double>& t, std::vector<BucketLevel>& levels);

}  // namespace simsgd

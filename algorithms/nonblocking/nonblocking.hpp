// Non-blocking SGD for those that are a choice of its options: dropcompute.
#pragma once

#include <cstdint>

#include "algorithms/gossip_rounds.hpp"
#include "algorithms/nonblocking/round_trigger.hpp"
#include "algorithms/nonblocking/round_update.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd {

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

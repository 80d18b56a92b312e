// What ends a round of micro-batches before everybody has finished it, for everybody.
//   none      nothing: all finish
//   first     the first worker that finishes sends SYNC to all (algorithms/activation.hpp: ceil(log2 P)
//   messages) kth       finishers report to rank 0, which sends SYNC when k have: one message more on the way
//   deadline  every worker's own clock, so long after it began the round; no message
// A SYNC carries the number of its round, from 1. Several may send the one of a round; one that arrives when
// the round is over is ignored, one of a later round ends the earlier ones too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "algorithms/activation.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

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

}  // namespace simsgd

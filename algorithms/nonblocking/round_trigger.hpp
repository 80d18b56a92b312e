// What ends a round of mini-batches before everybody has finished it, for everybody.
//   none      nothing: all finish
//   first     the first worker that finishes sends SYNC to all (services/activation: ceil(log2 P) messages)
//   kth       finishers report to rank 0, which sends SYNC when k have: one message more on the way
//   deadline  every worker's own clock, so long after it began the round; no message
// A SYNC carries the number of its round, from 1. Several may send the one of a round; one that arrives when
// the round is over is ignored, one of a later round ends the earlier ones too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "algorithms/activation.hpp"
#include "sim/parameters.hpp"

namespace simsgd {

struct TriggerSettings {
  enum class Rule : std::uint8_t { none, first, deadline, kth } rule = Rule::first;
  double deadline_s = 0;
  int k = 1;
};

/// The schema fragment of "trigger", "deadline" and "k", and its reader. Throws ParameterError.
Json trigger_schema();
TriggerSettings trigger_from(const Parameters& parameters, int workers);

/// One rank's side.
class RoundTrigger {
 public:
  RoundTrigger(Worker& worker, const TriggerSettings& settings);

  /// Begins the worker's next round. What it returns is complete once the round has been ended; null where
  /// nothing ends it.
  Handle begin(std::uint64_t round);
  /// This rank has finished its part of the round.
  void finished();

 private:
  class Rank;
  std::shared_ptr<Rank> rank_;  // shared with handlers, which pass on what comes late
};

}  // namespace simsgd

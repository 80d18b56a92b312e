// A job whose ranks all do the same in every step, each on its own mini-batch: what a profile of every rank,
// or a table of its steps, shows of it, as operations that can be played again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/operations/recorded_job.hpp"

namespace simsgd {

struct SteppedSpan {
  double begin_s = 0, end_s = 0;
};

struct SteppedCollective {
  SteppedSpan span;
  std::string operation;
  double bytes = 0;    ///< of the whole array; 0: not told
  int group_size = 0;  ///< 0: not told
};

/// What one rank did in one step, in any order; cleared once it is used.
struct SteppedStep {
  std::uint64_t number = 0;
  std::optional<SteppedSpan> whole;  ///< where its begin and end are by the operations' clock
  std::vector<SteppedSpan> computing;
  std::vector<SteppedCollective> collectives;
};

struct SteppedRank {
  int rank = 0;
  std::vector<SteppedStep> steps;
};

struct SteppedJob {
  std::string file;                ///< that errors name
  std::string unit = "operation";  ///< what it counts in errors
  int world_size = 0;              ///< 0: as many as there are
  bool one_clock = true;           ///< else each rank's is set by the ends of collectives
  std::vector<SteppedRank> ranks;
  std::map<std::string, std::size_t> understood, ignored;
  std::vector<InputError> skipped;  ///< see RecordedJob
};

/// Computing is cut where a collective began, and where it had waited for one that ended; what lies between
/// belongs to it. Throws ConfigError where the ranks' files do not fit together, or where they do not tell
/// what waited for what: operations of some ranks alone, that end before all have begun, or outlive their
/// step.
RecordedJob recorded_job(SteppedJob job);

}  // namespace simsgd

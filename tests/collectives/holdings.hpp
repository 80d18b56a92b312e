// Who holds what while a schedule runs. A schedule says only who sends how many bytes to whom; what the bytes
// mean is written down here, per schedule, as its citation describes the algorithm. Running that meaning
// along the schedule's messages shows whether it is correct.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/collectives/schedules.hpp"

namespace simsgd::test {

/// A set of ranks, as bits: at most 64.
using Ranks = std::uint64_t;
inline Ranks just(int rank) { return Ranks{1} << rank; }
inline Ranks everybody(int ranks) { return ranks == 64 ? ~Ranks{0} : just(ranks) - 1; }

/// holds[rank][block]: whose contributions are in what the rank holds of the block; 0: nothing.
using Holdings = std::vector<std::vector<Ranks>>;

/// One repetition of one stage, as the algorithm means it.
struct Move {
  enum class Kind { add, copy, tell } kind = Kind::add;  ///< tell: as add, but what is known already may come
  std::function<std::vector<int>(int rank)> blocks;      ///< what a rank sends, if it sends
};

/// The meaning of a schedule: of how many equal blocks the vector consists, and what moves in which
/// repetition.
struct Meaning {
  int blocks = 1;
  std::vector<Move> moves;
};

Meaning meaning_of(CollectiveOp op, const std::string& schedule, const ScheduleRequest& request);

/// Runs the meaning along the messages of the schedule. Throws std::runtime_error, in words, where a message
/// has other bytes than what it means, sends what the rank does not hold, or adds a contribution twice.
Holdings run(const Schedule& schedule, const Meaning& meaning, double bytes, Holdings holdings);

/// For each rank, on whose arrivals its end depends: a message synchronises its two ends.
std::vector<Ranks> dependencies(const Schedule& schedule);

}  // namespace simsgd::test

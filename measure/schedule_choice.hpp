// The schedules that the scenario names for its collectives, and those of operations of a method's own. A
// real run lets MPI choose for the former where it is not told otherwise.
#pragma once

#include <vector>

#include "sim/collectives/schedule.hpp"
#include "sim/job.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

/// Seconds that the scenario's cluster would take for the collective among `ranks`.
double predicted_s(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks);

/// By which schedule the scenario does it, of an operation's own where it has one.
Schedule scheduled(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks);

/// Whether the schedule's messages carry all that the operation's result is made of. An effect of a custom
/// one is given everybody's contribution.
bool carries_enough(const AnyCollective& collective, const Schedule& schedule);

}  // namespace simsgd

// The schedules that the scenario names for its collectives. A real run lets MPI choose its own; the
// scenario's are used for predictions, and for what a custom operation brings to whom.
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

/// Empties the contributions that the custom operation's schedule does not bring to the member `group_rank`.
void keep_what_arrives(const Job& job, const CustomCollective& collective, const std::vector<int>& ranks,
                       std::int32_t group_rank, std::vector<Tensor>& contributions);

}  // namespace simsgd

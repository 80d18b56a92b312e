// A schedule in which all ranks do the same, on links that they share evenly, as one would cost it for this
// alone: one division of each link among its messages a stage.
#pragma once

#include "sim/cluster/cluster.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd::bench {

/// When all ranks are through, all having begun at 0. Throws where the messages of a stage do not end
/// together.
double bare_stages_s(const Cluster& cluster, const Schedule& schedule);

}  // namespace simsgd::bench

// Whether messages of several senders to several receivers can meet on a link of an operation.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

/// Whether on each of `links`, which carry at most one message in a stage, every message waits until the one
/// before it has ended, also that of the operation before. `ranks` are the members of the group.
bool take_turns(const Schedule& schedule, const Cluster& cluster, const std::vector<int>& ranks,
                const std::vector<LinkId>& links);

}  // namespace simsgd

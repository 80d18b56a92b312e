// SimGrid's clock and SimGrid's flows, under the program's own fibers: what its loop of events and its
// sharing of links are compared with.
#pragma once

#include <memory>

#include "sim/engine/time_keeper.hpp"

namespace simsgd::test {

/// One per process, to be kept until it ends: SimGrid's statics refer to it.
std::unique_ptr<TimeKeeper> simgrid_time(const Cluster& cluster, TimeKeeper::Calls calls);

}  // namespace simsgd::test

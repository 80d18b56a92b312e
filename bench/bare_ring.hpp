// A ring all-reduce message by message as one would write it for this alone: a heap of messages that end, two
// counters a rank.
#pragma once

#include "sim/cluster/cluster.hpp"

namespace simsgd::bench {

/// When the last rank is through, all having begun at 0: 2 (P - 1) messages of bytes / P to the next rank,
/// each when both sides have ended their last one. For networks on which no two of them meet.
double bare_ring_s(const Cluster& cluster, double bytes);

}  // namespace simsgd::bench

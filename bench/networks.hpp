// The clusters that the benchmarks of collectives use: 25 GB/s and 5 us between nodes.
#pragma once

#include <string>

#include "sim/collectives/plan.hpp"

namespace simsgd::bench {

/// A star of one GPU per node, ports up to 20 % slower than the next: no two messages cost the same.
Cluster unequal_star(int ranks);
/// 4:1 oversubscribed, leaves of 16 nodes with one NIC. `shuffled`: nodes in a random order.
Cluster fat_tree(int nodes, int gpus_per_node, bool shuffled);
/// One NIC for all GPUs of a node, NVLink inside the nodes, one switch.
Cluster shared_star(int nodes, int gpus_per_node);
/// A NIC for every GPU, NVLink inside the nodes, one switch.
Cluster railed_star(int nodes, int gpus_per_node);

Plan all_reduce_plan(const Cluster& cluster, const std::string& schedule, double bytes);

}  // namespace simsgd::bench

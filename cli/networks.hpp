// What `simsgd list topologies NAME` says of an example of a physical network, and its drawing.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace simsgd {

struct NetworkOptions {
  std::string cluster;           ///< a cluster file, or a scenario with one; empty: an example
  int workers = 0;               ///< nodes of the example; 0: 16. Of a cluster: its workers; 0: as it says
  std::vector<std::string> set;  ///< "/key=value" for the topology's parameters
};

/// The network in DOT: of the example, nodes with two GPUs, two NICs of 1 GB/s and 2 us, and the parameters
/// in `set`; or of the cluster. Throws ConfigError where there is no such network.
std::string drawn_network(const TopologyPlugin& plugin, const NetworkOptions& options);

}  // namespace simsgd

// The table of topologies, written from the list in CMakeLists.txt, and the making of a network.
#pragma once

#include <vector>

#include "topologies/topology.hpp"

namespace simsgd {

const std::vector<TopologyPlugin>& topology_plugins();

/// The network of the topology that `object` names, with the options that it gives. Throws ParameterError.
Network make_network(const Json& object, const NodeShape& shape);

}  // namespace simsgd

// The table of topologies, written from the list in CMakeLists.txt, and the making of a network.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace simsgd {

const std::vector<TopologyPlugin>& topology_plugins();

/// The network of the topology that `object` names, with the options that it gives. Throws ParameterError.
Network make_network(const Json& object, const NodeShape& shape);

/// The network in DOT, for Graphviz: nodes, switches and the cables between them, as the topology `dot` reads
/// them. Links whose ends are not known (of a SimGrid platform) are not drawn.
std::string to_dot(const Network& network);

}  // namespace simsgd

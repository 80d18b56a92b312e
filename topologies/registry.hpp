// The table of topologies: one line each, nothing registers itself.
#pragma once

#include <vector>

#include "topologies/topology.hpp"

namespace simsgd {

const std::vector<TopologyPlugin>& topology_plugins();

}  // namespace simsgd

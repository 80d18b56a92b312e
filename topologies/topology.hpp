// A topology: a physical network as a plug-in, one file under topologies/, listed in
// topologies/CMakeLists.txt. From the shape of the nodes and its own options it makes a plain description
// (links and a routing rule), or throws ParameterError.
//
// Latency is the same rule in all of them: a message between nodes pays `nic_latency_s`, which includes the
// first switch, and `switch_latency` (an option, default 0) for every further switch on its path.
// A lone message of m bytes takes the sum of the latencies + m / (narrowest bandwidth), exactly.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/network.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What is inside a node and how it is attached. Checked by whoever reads it from a file: counts at least 1,
/// bandwidths above 0, latencies not negative.
struct NodeShape {
  int nodes = 1;
  int gpus_per_node = 1;
  double gpu_link_Bps = 0;        ///< NVLink or PCIe inside a node, per GPU and direction
  double gpu_link_latency_s = 0;  ///< one way, from GPU to GPU of one node
  double nic_Bps = 0;             ///< per NIC and direction
  double nic_latency_s = 0;       ///< one way, from NIC to NIC through one switch
  int nics = 1;                   ///< NICs (rails) per node: GPU g uses NIC g * nics / gpus_per_node
  /// The path of a file that a topology's options name; may be empty.
  std::function<std::string(const std::string&)> find_file{};
  double host_memory_Bps = 0;  ///< that all messages inside a node share; 0: GPUs reach each other
};

using TopologyPlugin = Plugin<Network, const NodeShape&>;

const std::vector<TopologyPlugin>& topology_plugins();

/// The network of the topology that `object` names, with the options that it gives. Throws ParameterError.
Network make_network(const Json& object, const NodeShape& shape);

/// The network in DOT, for Graphviz: nodes, switches and the cables between them, as the topology `dot` reads
/// them. Links whose ends are not known (of a SimGrid platform) are not drawn.
std::string to_dot(const Network& network);

}  // namespace simsgd

// A topology: a physical network as a plug-in, one file under topologies/, listed in
// topologies/CMakeLists.txt. From the shape of the nodes and its own options it makes a plain description
// (links and a routing rule), or throws ParameterError.
//
// Latency is the same rule in all of them: a message between nodes pays `nic_latency_s`, which includes the
// first switch, and `switch_latency` (an option, default 0) for every further switch on its path.
// A lone message of m bytes takes the sum of the latencies + m / (narrowest bandwidth), exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
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

// The part that all topologies share: GPUs, node interiors and NICs with their rails.
// Inside a node a message crosses {up of the sending GPU, down of the receiving GPU}, and between the two the
// host's memory where GPUs have no path to each other: one link that all of the node share. Between nodes it
// crosses {up of the sender's NIC, links between switches, down of the receiver's NIC}. The way between GPU
// and NIC costs nothing and carries no contention: PCIe is faster than the NIC where this model holds, and a
// cluster that copies through host memory says so with its host costs.

/// Copied into the routing rule, so plain numbers only.
class NodeLinks {
 public:
  /// Vertices of the node's part of the graph; a topology's switches follow them.
  static int first_switch(const NodeShape& shape) { return shape.nodes * shape.gpus_per_node + shape.nodes; }

  /// Adds GPUs, interiors, `switches` switch vertices and the links of the nodes to an empty network.
  /// `switch_of_node` is the index of the switch that a node's NICs are plugged into.
  NodeLinks(Network& network, const NodeShape& shape, int switches,
            const std::function<int(int node)>& switch_of_node)
      : NodeLinks(network, shape, switches, [&](int node, int) { return switch_of_node(node); }) {}
  /// The same where each NIC of a node has a switch of its own.
  NodeLinks(Network& network, const NodeShape& shape, int switches,
            const std::function<int(int node, int nic)>& switch_of_nic);

  bool has(int endpoint) const { return endpoint >= 0 && endpoint < endpoints_; }
  int node_of(int endpoint) const { return endpoint / gpus_per_node_; }
  /// Index of the endpoint's NIC among all: node * nics + rail.
  int nic_of(int endpoint) const {
    const int node = node_of(endpoint);
    return node * nics_ + (endpoint - node * gpus_per_node_) * nics_ / gpus_per_node_;
  }

  int rail_of(int endpoint) const { return nic_of(endpoint) - node_of(endpoint) * nics_; }
  /// The first GPU of the node of `endpoint` that uses NIC `rail`: endpoint itself where its own NIC is that.
  int peer_on_rail(int endpoint, int rail) const {
    if (rail_of(endpoint) == rail) return endpoint;
    return node_of(endpoint) * gpus_per_node_ + (rail * gpus_per_node_ + nics_ - 1) / nics_;
  }
  /// From GPU to GPU of one node.
  void inside(int from, int to, std::vector<LinkId>& path) const {
    path.push_back(2 * from);
    if (first_memory_link_ > 0) path.push_back(first_memory_link_ + node_of(from));
    path.push_back(2 * to + 1);
  }
  LinkId nic_up(int node, int rail) const { return first_nic_link_ + 2 * (node * nics_ + rail); }
  LinkId nic_down(int node, int rail) const { return nic_up(node, rail) + 1; }

  /// Completes the network with the rule `between(from, to, path)`, which appends the links between switches
  /// for two endpoints of different nodes.
  template <class Between>
  void route(Network& network, Between between) const {
    network.route = [nodes = *this, between = std::move(between)](int from, int to,
                                                                  std::vector<LinkId>& path) {
      if (from == to || !nodes.has(from) || !nodes.has(to)) no_route();
      if (nodes.node_of(from) == nodes.node_of(to)) {
        nodes.inside(from, to, path);
        return;
      }
      path.push_back(nodes.first_nic_link_ + 2 * nodes.nic_of(from));
      between(from, to, path);
      path.push_back(nodes.first_nic_link_ + 2 * nodes.nic_of(to) + 1);
    };
  }

 private:
  [[noreturn]] static void no_route();

  int endpoints_;
  int gpus_per_node_;
  int nics_;
  LinkId first_nic_link_ = 0;
  LinkId first_memory_link_ = 0;  // 0: none
};

/// More than any machine has, and few enough for 32-bit numbers and memory.
constexpr int kLargestCount = 65536;
constexpr std::int64_t kMostCables = 20'000'000;

/// A count from 1 to 65,536. Value: int or std::optional<int>.
template <class Value>
Field& count_field(Fields& f, std::string_view key, Value& value, std::string_view meaning) {
  return f.whole(key, value, meaning).at_least(1).at_most(kLargestCount);
}

/// The latency of every switch after the first on a path, in seconds.
inline void switch_latency_field(Fields& f, double& latency_s) {
  f.time("switch_latency", latency_s,
         "Every switch after the first on a path adds this latency; the first is part of the NIC's");
}

/// As many spines as make an uplink as fast as a NIC, for a leaf switch with so many NICs.
inline int natural_spines(double leaf_nics, double oversubscription) {
  const double spines = leaf_nics / oversubscription;
  const double whole = std::round(spines);
  if (whole < 1 || whole > kLargestCount || std::abs(spines - whole) > 1e-9 * whole)
    reject("oversubscription",
           "does not divide the " + std::to_string(std::llround(leaf_nics)) + " NICs of a leaf",
           "Give one that does, or the number of spines too");
  return static_cast<int>(whole);
}

/// Ends the making of a network of which `key` makes more cables than can be simulated.
inline void check_cables(const std::string& key, std::int64_t cables) {
  if (cables > kMostCables)
    reject(key, "makes " + std::to_string(cables) + " cables between switches",
           "Give a network of at most " + std::to_string(kMostCables));
}

}  // namespace simsgd

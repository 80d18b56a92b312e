// Fat tree of two levels: leaf switches with `leaf_nodes` nodes each, every leaf joined to every spine.
//   uplink bandwidth = leaf_nodes * nics * nic_Bps / (oversubscription * spines)
//   spine of a message = (index of the destination's NIC) mod spines: static d-mod-k routing, so that all
//   messages to one NIC meet in one spine, and messages to different NICs may collide on an uplink
// Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees",
// CCIT report 776, Technion, 2010. Tests: tests/topologies/fat_tree.cpp.
#include <cmath>

#include "topologies/node_links.hpp"
#include "topologies/values.hpp"

namespace simsgd {

namespace {

/// As many spines as make an uplink as fast as a NIC.
int natural_spines(const NodeShape& shape, int leaf_nodes, double oversubscription) {
  const double spines = leaf_nodes * shape.nics / oversubscription;
  const double whole = std::round(spines);
  if (whole < 1 || whole > kLargestCount || std::abs(spines - whole) > 1e-9 * whole)
    Parameters::reject("oversubscription",
                       "does not divide the " + std::to_string(leaf_nodes * shape.nics) + " NICs of a leaf",
                       "Give one that does, or the number of spines too");
  return static_cast<int>(whole);
}

Network make_fat_tree(const NodeShape& shape, const Parameters& parameters) {
  const int leaf_nodes = count_of(parameters, "leaf_nodes", 1, 16);
  const double oversubscription = oversubscription_of(parameters);
  const int spines = parameters.has("spines") ? count_of(parameters, "spines", 1, 1)
                                              : natural_spines(shape, leaf_nodes, oversubscription);
  const double uplink_Bps = leaf_nodes * shape.nics * shape.nic_Bps / (oversubscription * spines);
  const double latency_s = switch_latency_of(parameters);
  const int leaves = (shape.nodes + leaf_nodes - 1) / leaf_nodes;
  check_cables("spines", static_cast<std::int64_t>(leaves) * spines);

  Network network;
  network.topology = "fat_tree";
  const NodeLinks nodes(network, shape, leaves > 1 ? leaves + spines : 1,
                        [=](int node) { return node / leaf_nodes; });
  const auto first_uplink = static_cast<LinkId>(network.links.size());
  const int first_leaf = NodeLinks::first_switch(shape);
  for (int leaf = 0; leaf < leaves && leaves > 1; ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      const std::string name = "leaf" + std::to_string(leaf) + ".spine" + std::to_string(spine);
      network.add_cable({name + ".up", uplink_Bps, latency_s, first_leaf + leaf, first_leaf + leaves + spine},
                        name + ".down");
    }
  }
  nodes.route(network, [=](int from, int to, std::vector<LinkId>& path) {
    const int from_leaf = nodes.node_of(from) / leaf_nodes;
    const int to_leaf = nodes.node_of(to) / leaf_nodes;
    if (from_leaf == to_leaf) return;
    const int spine = nodes.nic_of(to) % spines;
    path.push_back(first_uplink + 2 * (from_leaf * spines + spine));
    path.push_back(first_uplink + 2 * (to_leaf * spines + spine) + 1);
  });
  return network;
}

}  // namespace

TopologyPlugin fat_tree_topology() {
  PluginInfo info;
  info.name = "fat_tree";
  info.summary = "leaf and spine switches, static d-mod-k routing, any oversubscription";
  info.citation = "Zahavi, CCIT report 776, Technion, 2010";
  info.properties = {
      {"leaf_nodes", count_schema(1, "nodes per leaf switch; default 16")},
      {"oversubscription",
       oversubscription_schema("bandwidth of a leaf's NICs over that of its uplinks; default 1")},
      {"spines", count_schema(1, "spine switches; by default as many as make an uplink as fast as a NIC")},
      {"switch_latency", switch_latency_schema()},
  };
  return {info, make_fat_tree};
}

}  // namespace simsgd

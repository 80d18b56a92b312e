// Fat tree of two levels: leaf switches with `leaf_nodes` nodes each, every leaf joined to every spine.
//   uplink bandwidth = leaf_nodes * nics * nic_Bps / (oversubscription * spines)
//   With `racks` R: a leaf is a rack, of ceil(nodes / R) nodes in the fullest, and there is one spine unless
//   `spines` says otherwise: all that leaves a rack shares leaf_nodes * nics * nic_Bps / oversubscription.
//   spine of a message = (index of the destination's NIC) mod spines: static d-mod-k routing, so that all
//   messages to one NIC meet in one spine, and messages to different NICs may collide on an uplink
//   With "routing": "hashed" the spine of a pair of GPUs is drawn for good, each with the same probability,
//   from (seed, sender, receiver): what a switch's hash of addresses and ports does to long-lived connections
//   (ECMP; Hopps, RFC 2992, 2000), one connection for each pair and direction. The fullest of S uplinks that
//   F pairs share then carries as many as the fullest of S bins with F balls, not ceil(F / S).
// Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees",
// CCIT report 776, Technion, 2010. Tests: tests/topologies/fat_tree.cpp.
#include <optional>

#include "sim/base/random.hpp"
#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

struct FatTreeOptions {
  std::optional<int> leaf_nodes, racks, spines;
  double oversubscription = 1;
  double switch_latency_s = 0;
  bool hashed = false;
  std::optional<std::uint64_t> seed;

  void fields(Fields& f) {
    count_field(f, "leaf_nodes", leaf_nodes, "A leaf switch has this many nodes")
        .by_rule("16, unless \"racks\" are given");
    count_field(
        f, "racks", racks,
        "Racks with a switch each, among which the nodes are dealt evenly; in place of leaf_nodes. Everything that leaves a rack shares one uplink, unless spines are given");
    f.number("oversubscription", oversubscription,
             "A leaf's NICs have this many times the bandwidth of its uplinks")
        .above(0);
    count_field(f, "spines", spines, "There are this many spine switches")
        .by_rule("as many as make an uplink as fast as a NIC, or 1 with \"racks\"");
    switch_latency_field(f, switch_latency_s);
    f.choice(
        "routing", hashed, {{"d_mod_k", false}, {"hashed", true}},
        "A message takes the spine of its destination's NIC modulo the spines, or one that is drawn for each sender and receiver (hashed, as ECMP does)");
    f.whole("seed", seed, "Hashed routing is drawn with this seed, independent of the scenario's")
        .by_rule("1 with hashed routing");
  }
  void complete(const NodeShape& shape) {
    if (hashed && !seed) seed = 1;
    if (!racks && !leaf_nodes) leaf_nodes = 16;
    if (!spines) spines = racks ? 1 : natural_spines(*leaf_nodes * shape.nics, oversubscription);
  }
};

/// Nodes of the fullest of so many racks.
int nodes_in_rack(const NodeShape& shape, const FatTreeOptions& options) {
  const int racks = *options.racks;
  if (options.leaf_nodes) reject("racks", "contradicts \"leaf_nodes\"", "Give one of the two");
  if (racks > shape.nodes)
    reject("racks", "are more than the " + std::to_string(shape.nodes) + " nodes", "Give fewer");
  return (shape.nodes + racks - 1) / racks;
}

struct HashedPair {
  std::uint64_t seed = 1;
  int from = 0, to = 0;
};

int drawn_spine(const HashedPair& pair, int spines) {
  Stream draws({.seed = pair.seed,
                .purpose = Purpose::routing,
                .entity = static_cast<std::uint32_t>(pair.from),
                .step = static_cast<std::uint64_t>(pair.to)});
  return static_cast<int>(draws.below(static_cast<std::uint32_t>(spines)));
}

Network make_fat_tree(const FatTreeOptions& options, const NodeShape& shape) {
  const bool racks = options.racks.has_value();
  const int leaf_nodes = racks ? nodes_in_rack(shape, options) : *options.leaf_nodes;
  const double oversubscription = options.oversubscription;
  const int spines = *options.spines;
  const double uplink_Bps = leaf_nodes * shape.nics * shape.nic_Bps / (oversubscription * spines);
  const double latency_s = options.switch_latency_s;
  const int leaves = racks ? *options.racks : (shape.nodes + leaf_nodes - 1) / leaf_nodes;
  // Racks are filled evenly, leaves one after another.
  const auto leaf_of = [racks, leaves, leaf_nodes, all = shape.nodes](int node) {
    return racks ? static_cast<int>(static_cast<std::int64_t>(node) * leaves / all) : node / leaf_nodes;
  };
  if (options.seed && !options.hashed)
    reject("seed", "has no effect without \"routing\": \"hashed\"",
           "Give \"routing\": \"hashed\", or leave it out");
  const bool hashed = options.hashed;
  const std::uint64_t seed = options.seed.value_or(1);
  check_cables("spines", static_cast<std::int64_t>(leaves) * spines);

  Network network;
  network.topology = "fat_tree";
  const NodeLinks nodes(network, shape, leaves > 1 ? leaves + spines : 1, leaf_of);
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
    const int from_leaf = leaf_of(nodes.node_of(from));
    const int to_leaf = leaf_of(nodes.node_of(to));
    if (from_leaf == to_leaf) return;
    const int spine =
        hashed ? drawn_spine({.seed = seed, .from = from, .to = to}, spines) : nodes.nic_of(to) % spines;
    path.push_back(first_uplink + 2 * (from_leaf * spines + spine));
    path.push_back(first_uplink + 2 * (to_leaf * spines + spine) + 1);
  });
  return network;
}

}  // namespace

std::vector<TopologyPlugin> fat_tree() {
  return {{{.name = "fat_tree",
            .summary = "leaf and spine switches, d-mod-k or hashed routing, any oversubscription",
            .citation = "Zahavi, CCIT report 776, Technion, 2010"},
           make_fat_tree}};
}

}  // namespace simsgd::topologies

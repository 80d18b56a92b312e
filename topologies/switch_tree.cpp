// Switches of `ports` ports, joined by single cables: what small Ethernet clusters are built from.
//   chain (a cascade): each switch is joined to the next one. The two at the ends hold ports - 1 nodes, those
//   between ports - 2, filled in order.
//   tree: leaves hold ports - 1 nodes and have one uplink; a switch above joins ports - 1 of the level below,
//   the root up to `ports`; as many levels as the nodes need.
// A node with several NICs takes a port for each. The cable between two switches has the bandwidth of a NIC,
// or `uplink`, or in a tree (what the ports below can send) / `oversubscription`, level by level.
// A path through s switches has alpha = nic_latency + (s - 1) switch_latency and no choice of route.
// The chain is the network of gTop-k, arXiv 1901.04359, as this project infers it: 8 ports at 1 Gb/s hold its
// 32 machines in exactly 5 switches, 7 + 6 + 6 + 6 + 7. Tests: tests/topologies/switch_tree.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/check.hpp"
#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

constexpr int kMaxLevels = 32;  // at least 2 switches below each: 2^31 nodes

struct SwitchTreeOptions {
  bool chain = false;
  int ports = 0;
  std::optional<double> uplink_Bps;        ///< of a leaf
  std::optional<double> oversubscription;  ///< in place of it, of all levels
  double switch_latency_s = 0;

  void fields(Fields& f) {
    f.choice("shape", chain, {{"tree", false}, {"chain", true}},
             "The switches form a balanced tree, or a chain in which each is joined to the next");
    f.whole("ports", ports, "A switch has this many ports, including those to other switches")
        .at_least(3)
        .at_most(kLargestCount)
        .required();
    f.bandwidth("uplink", uplink_Bps, "A cable between switches has this bandwidth").by_rule("that of a NIC");
    f.number(
         "oversubscription", oversubscription,
         "In a tree, a switch's ports below have this many times the bandwidth of its uplink; in place of uplink")
        .above(0);
    switch_latency_field(f, switch_latency_s);
  }
  void complete(const NodeShape& shape) {
    if (!uplink_Bps && !oversubscription) uplink_Bps = shape.nic_Bps;
  }
};

struct Settings {
  int ports;
  double uplink_Bps;        ///< of a leaf
  double oversubscription;  ///< of the levels above; 0: all uplinks as fast as a leaf's
  double latency_s;
};

/// Nodes that a switch takes beside its `cables` to other switches.
int room(const NodeShape& shape, int ports, int cables) { return (ports - cables) / shape.nics; }

Settings settings_of(const SwitchTreeOptions& options, const NodeShape& shape) {
  const int taken = options.chain ? 2 : 1;
  if (room(shape, options.ports, taken) < 1)
    reject("ports", "are too few to connect a node with " + std::to_string(shape.nics) + " NICs",
           "Give at least " + std::to_string(shape.nics + taken));
  Settings settings{.ports = options.ports,
                    .uplink_Bps = options.uplink_Bps.value_or(0),
                    .oversubscription = options.oversubscription.value_or(0),
                    .latency_s = options.switch_latency_s};
  if (!options.oversubscription) return settings;
  if (options.chain)
    reject("oversubscription", "has no effect in a chain", "Give the bandwidth as \"uplink\"");
  if (options.uplink_Bps) reject("oversubscription", "contradicts \"uplink\"", "Give one of the two");
  settings.uplink_Bps =
      room(shape, settings.ports, 1) * shape.nics * shape.nic_Bps / settings.oversubscription;
  return settings;
}

Network make_single(const NodeShape& shape) {
  Network network;
  const NodeLinks nodes(network, shape, 1, [](int) { return 0; });
  nodes.route(network, [](int, int, std::vector<LinkId>&) {});
  return network;
}

Network make_chain(const NodeShape& shape, const Settings& settings) {
  const int end = room(shape, settings.ports, 1);
  const int middle = room(shape, settings.ports, 2);
  const int switches = 2 + std::max(0, (shape.nodes - 2 * end + middle - 1) / middle);
  const auto switch_of = [=](int node) {
    return node < end ? 0 : std::min(1 + (node - end) / middle, switches - 1);
  };
  Network network;
  const NodeLinks nodes(network, shape, switches, switch_of);
  const auto first_trunk = static_cast<LinkId>(network.links.size());
  for (int i = 0; i + 1 < switches; ++i) {
    const int vertex = NodeLinks::first_switch(shape) + i;
    const std::string here = "switch" + std::to_string(i), next = "switch" + std::to_string(i + 1);
    network.add_cable(
        {fmt::format("{}>{}", here, next), settings.uplink_Bps, settings.latency_s, vertex, vertex + 1},
        fmt::format("{}>{}", next, here));
  }
  nodes.route(network, [=](int from, int to, std::vector<LinkId>& path) {
    int at = switch_of(nodes.node_of(from));
    const int goal = switch_of(nodes.node_of(to));
    for (; at < goal; ++at) path.push_back(first_trunk + 2 * at);
    for (; at > goal; --at) path.push_back(first_trunk + 2 * (at - 1) + 1);
  });
  return network;
}

/// Levels of a tree from the leaves to the root: how many switches each has and the index of its first one.
struct Levels {
  int count = 0;
  int fan = 0;  ///< switches below one that is not the root
  std::array<int, kMaxLevels> width{}, first{};

  int parent(int level, int i) const {
    return std::min(i / fan, width[static_cast<std::size_t>(level) + 1] - 1);
  }
  int index(int level, int i) const { return first[static_cast<std::size_t>(level)] + i; }
};

Levels levels_of(int leaves, int ports) {
  Levels levels;
  levels.fan = ports - 1;
  int width = leaves, first = 0;
  for (;;) {
    const auto level = static_cast<std::size_t>(levels.count++);
    CHECK(level < kMaxLevels, "a tree is not higher than 2^31 nodes need");
    levels.width[level] = width;
    levels.first[level] = first;
    if (width == 1) return levels;
    first += width;
    width = width <= ports ? 1 : (width + levels.fan - 1) / levels.fan;
  }
}

void add_uplinks(Network& network, const Levels& levels, const Settings& settings, int first_switch) {
  double uplink_Bps = settings.uplink_Bps;
  for (int level = 0; level + 1 < levels.count; ++level) {
    for (int i = 0; i < levels.width[static_cast<std::size_t>(level)]; ++i) {
      const std::string name = "switch" + std::to_string(levels.index(level, i));
      network.add_cable({name + ".up", uplink_Bps, settings.latency_s, first_switch + levels.index(level, i),
                         first_switch + levels.index(level + 1, levels.parent(level, i))},
                        name + ".down");
    }
    if (settings.oversubscription > 0) uplink_Bps *= levels.fan / settings.oversubscription;
  }
}

Network make_balanced(const NodeShape& shape, const Settings& settings) {
  const int leaf_nodes = room(shape, settings.ports, 1);
  const Levels levels = levels_of((shape.nodes + leaf_nodes - 1) / leaf_nodes, settings.ports);
  Network network;
  const NodeLinks nodes(network, shape, levels.index(levels.count - 1, 1),
                        [=](int node) { return node / leaf_nodes; });
  const auto first_uplink = static_cast<LinkId>(network.links.size());
  add_uplinks(network, levels, settings, NodeLinks::first_switch(shape));
  nodes.route(network, [=](int from, int to, std::vector<LinkId>& path) {
    int a = nodes.node_of(from) / leaf_nodes, b = nodes.node_of(to) / leaf_nodes;
    std::array<LinkId, kMaxLevels> down;
    std::size_t downs = 0;
    for (int level = 0; a != b; ++level) {
      path.push_back(first_uplink + 2 * levels.index(level, a));
      down[downs++] = first_uplink + 2 * levels.index(level, b) + 1;
      a = levels.parent(level, a);
      b = levels.parent(level, b);
    }
    while (downs > 0) path.push_back(down[--downs]);
  });
  return network;
}

Network make_switch_tree(const SwitchTreeOptions& options, const NodeShape& shape) {
  const Settings settings = settings_of(options, shape);
  Network network = shape.nodes <= room(shape, settings.ports, 0) ? make_single(shape)
                    : options.chain                               ? make_chain(shape, settings)
                                                                  : make_balanced(shape, settings);
  network.topology = "switch_tree";
  return network;
}

}  // namespace

std::vector<TopologyPlugin> switch_tree() {
  return {{{.name = "switch_tree",
            .summary = "small switches joined by single cables, as a balanced tree or a chain",
            .citation = ""},
           make_switch_tree}};
}

}  // namespace simsgd::topologies

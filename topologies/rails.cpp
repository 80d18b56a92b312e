// Rails: NIC i of every node of a group is plugged into the group's switch i, its rail, so that GPUs of one
// rank inside their nodes are one switch apart. Rail switches of all groups are joined to every spine.
//   uplink bandwidth = group_nodes * nic_Bps / (oversubscription * spines)
//   spine of a message = (index of the destination's NIC) mod spines, as in a fat tree
// Between two rails of a group a message goes over a spine, or with "cross_rail": "nvlink" first to the GPU
// of the sender's node that is on the receiver's rail (NCCL's PXN), which then sends it; without spines
// ("spines": 0) it is the only way, and there is one group. Wang et al., "Rail-only: a low-cost
// high-performance network for training LLMs with trillion parameters", arXiv 2307.12169; PXN: NCCL 2.12,
// Jeaugey et al., NVIDIA developer blog, 2022. Tests: tests/topologies/rails.cpp.
#include <fmt/format.h>

#include <optional>

#include "sim/base/check.hpp"
#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

struct RailsOptions {
  std::optional<int> group_nodes, spines;
  double oversubscription = 1;
  bool nvlink = false;
  double switch_latency_s = 0;

  void fields(Fields& f) {
    count_field(f, "group_nodes", group_nodes, "This many nodes share rail switches").by_rule("all nodes");
    f.number("oversubscription", oversubscription,
             "A rail switch's NICs have this many times the bandwidth of its uplinks")
        .above(0);
    f.whole("spines", spines, "There are this many spine switches; with 0 only NVLink joins the rails")
        .at_least(0)
        .at_most(kLargestCount)
        .by_rule("as many as make an uplink as fast as a NIC");
    f.choice(
        "cross_rail", nvlink, {{"spine", false}, {"nvlink", true}},
        "How a message reaches another rail: over a spine, or inside the sender's node by the GPU that is on that rail (PXN)");
    switch_latency_field(f, switch_latency_s);
  }
  void complete(const NodeShape& shape) {
    if (!group_nodes) group_nodes = std::min(shape.nodes, kLargestCount);
    if (!spines)
      spines = shape.nics == 1 && groups(shape) == 1 ? 0 : natural_spines(*group_nodes, oversubscription);
  }
  int groups(const NodeShape& shape) const { return (shape.nodes + *group_nodes - 1) / *group_nodes; }
};

void check_rails(const RailsOptions& options, const NodeShape& shape) {
  const int groups = options.groups(shape);
  check_cables("spines", static_cast<std::int64_t>(groups) * shape.nics * *options.spines);
  if (shape.nics > shape.gpus_per_node)
    reject("name",
           fmt::format("has {} NICs for {} GPUs in a node, and each GPU uses one", shape.nics,
                       shape.gpus_per_node),
           "Set /cluster/nic/count to at most the GPUs of a node");
  if (*options.spines > 0) return;
  if (groups > 1)
    reject("spines", fmt::format("is 0, and {} groups of nodes need spines", groups),
           "Give spines, or more group_nodes");
  if (shape.nics > 1 && !options.nvlink)
    reject("spines", fmt::format("is 0, so nothing joins the {} rails", shape.nics),
           "Give spines, or \"cross_rail\": \"nvlink\"");
}

Network make_rails(const RailsOptions& options, const NodeShape& shape) {
  check_rails(options, shape);
  const int rails = shape.nics, spines = *options.spines, groups = options.groups(shape);
  const int group_nodes = *options.group_nodes;
  const auto leaf_of = [=](int node, int rail) { return node / group_nodes * rails + rail; };
  const int leaves = groups * rails;

  Network network;
  network.topology = "rails";
  const NodeLinks nodes(network, shape, leaves + spines, leaf_of);
  const auto first_uplink = static_cast<LinkId>(network.links.size());
  const int first_leaf = NodeLinks::first_switch(shape);
  for (int leaf = 0; leaf < leaves && spines > 0; ++leaf) {
    const double uplink_Bps = group_nodes * shape.nic_Bps / (options.oversubscription * spines);
    for (int spine = 0; spine < spines; ++spine) {
      const std::string name = fmt::format("group{}.rail{}.spine{}", leaf / rails, leaf % rails, spine);
      network.add_cable({name + ".up", uplink_Bps, options.switch_latency_s, first_leaf + leaf,
                         first_leaf + leaves + spine},
                        name + ".down");
    }
  }
  network.route = [=, nvlink = options.nvlink](int from, int to, std::vector<LinkId>& path) {
    CHECK(from != to && nodes.has(from) && nodes.has(to), "a route joins two endpoints of the network");
    const int node = nodes.node_of(from), to_node = nodes.node_of(to), to_rail = nodes.rail_of(to);
    if (node == to_node) return nodes.inside(from, to, path);
    const int sender = nvlink ? nodes.peer_on_rail(from, to_rail) : from;
    if (sender != from) nodes.inside(from, sender, path);
    const int rail = nodes.rail_of(sender);
    const int leaf = leaf_of(node, rail), to_leaf = leaf_of(to_node, to_rail);
    path.push_back(nodes.nic_up(node, rail));
    if (leaf != to_leaf) {
      const int spine = nodes.nic_of(to) % spines;
      path.push_back(first_uplink + 2 * (leaf * spines + spine));
      path.push_back(first_uplink + 2 * (to_leaf * spines + spine) + 1);
    }
    path.push_back(nodes.nic_down(to_node, to_rail));
  };
  return network;
}

}  // namespace

std::vector<TopologyPlugin> rails() {
  return {{{.name = "rails",
            .summary = "NIC i of each node on rail switch i, spines or NVLink between the rails",
            .citation = "Wang et al., arXiv 2307.12169"},
           make_rails}};
}

}  // namespace simsgd::topologies

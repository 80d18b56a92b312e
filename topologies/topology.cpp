#include "topologies/topology.hpp"

#include <fmt/format.h>

namespace simsgd {

Network make_network(const Json& object, const NodeShape& shape) {
  return find_plugin(topology_plugins(), RawValue(object).name(), "topology").make(object, shape);
}

namespace {

std::string dot_name(const Network& network, int vertex) {
  const int nodes = network.endpoints / network.gpus_per_node;
  const int node = vertex - network.endpoints;
  return node < nodes ? fmt::format("node{}", node) : fmt::format("switch{}", node - nodes);
}

}  // namespace

std::string to_dot(const Network& network) {
  const int nodes = network.endpoints / network.gpus_per_node;
  std::string text = fmt::format("graph \"{}\" {{\n  node [shape=circle];\n", network.topology);
  for (int node = 0; node < nodes; ++node) text += fmt::format("  node{} [type=host, shape=box];\n", node);
  for (int vertex = network.endpoints + nodes; vertex < network.vertices; ++vertex)
    text += fmt::format("  {} [type=switch];\n", dot_name(network, vertex));
  // Both directions of a cable follow one another; what is inside a node is not drawn.
  for (std::size_t i = 0; i + 1 < network.links.size(); i += 2) {
    const Link& link = network.links[i];
    if (link.from_vertex < network.endpoints || link.to_vertex < network.endpoints) continue;
    text += fmt::format("  {} -- {} [bandwidth=\"{} B/s\", latency=\"{} s\", tooltip=\"{}\"];\n",
                        dot_name(network, link.from_vertex), dot_name(network, link.to_vertex),
                        link.bandwidth_Bps, link.latency_s, link.name);
  }
  return text + "}\n";
}

}  // namespace simsgd

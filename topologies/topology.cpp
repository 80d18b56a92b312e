#include "topologies/topology.hpp"

#include <fmt/format.h>

#include "sim/base/check.hpp"

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

namespace {

void add_gpus(Network& network, const NodeShape& shape) {
  for (int gpu = 0; gpu < network.endpoints; ++gpu) {
    const std::string name = "gpu" + std::to_string(gpu);
    network.add_cable({name + ".up", shape.gpu_link_Bps, shape.gpu_link_latency_s / 2, gpu,
                       network.endpoints + gpu / shape.gpus_per_node},
                      name + ".down");
  }
}

}  // namespace

void NodeLinks::no_route() { throw InternalError("a route joins two endpoints of the network"); }

NodeLinks::NodeLinks(Network& network, const NodeShape& shape, int switches,
                     const std::function<int(int node, int nic)>& switch_of_nic)
    : endpoints_(shape.nodes * shape.gpus_per_node), gpus_per_node_(shape.gpus_per_node), nics_(shape.nics) {
  CHECK(shape.nodes >= 1 && shape.gpus_per_node >= 1 && shape.nics >= 1,
        "a cluster has nodes, GPUs and NICs");
  CHECK(shape.nic_Bps > 0 && (shape.gpu_link_Bps > 0 || shape.gpus_per_node == 1), "links carry bytes");
  network.endpoints = endpoints_;
  network.gpus_per_node = gpus_per_node_;
  network.vertices = first_switch(shape) + switches;
  // A node with one GPU has no traffic inside, so no links for it.
  if (gpus_per_node_ > 1) add_gpus(network, shape);
  if (gpus_per_node_ > 1 && shape.host_memory_Bps > 0) {
    first_memory_link_ = static_cast<LinkId>(network.links.size());
    for (int node = 0; node < shape.nodes; ++node)
      network.add_link({"node" + std::to_string(node) + ".memory", shape.host_memory_Bps, 0});
  }
  first_nic_link_ = static_cast<LinkId>(network.links.size());
  for (int node = 0; node < shape.nodes; ++node) {
    for (int rail = 0; rail < nics_; ++rail) {
      const std::string name = "node" + std::to_string(node) + ".nic" + std::to_string(rail);
      const int above = first_switch(shape) + switch_of_nic(node, rail);
      network.add_cable({name + ".up", shape.nic_Bps, shape.nic_latency_s / 2, endpoints_ + node, above},
                        name + ".down");
    }
  }
}

}  // namespace simsgd

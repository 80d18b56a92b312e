// Star: every NIC on one non-blocking switch. Messages share only the NICs of their ends.
//   alpha = nic_latency, bandwidth = nic_Bps; test: tests/topologies/star.cpp
#include "topologies/node_links.hpp"

namespace simsgd {

namespace {

Network make_star(const NodeShape& shape, const Parameters&) {
  Network network;
  network.topology = "star";
  const NodeLinks nodes(network, shape, 1, [](int) { return 0; });
  nodes.route(network, [](int, int, std::vector<LinkId>&) {});
  return network;
}

}  // namespace

TopologyPlugin star_topology() {
  PluginInfo info;
  info.name = "star";
  info.summary = "one non-blocking switch that every node is plugged into";
  return {info, make_star};
}

}  // namespace simsgd

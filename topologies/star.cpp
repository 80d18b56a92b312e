// Star: every NIC on one non-blocking switch. Messages share only the NICs of their ends.
//   alpha = nic_latency, bandwidth = nic_Bps; test: tests/topologies/star.cpp
#include "topologies/topology.hpp"

namespace simsgd::topologies {

namespace {

Network make_star(const NodeShape& shape) {
  Network network;
  network.topology = "star";
  const NodeLinks nodes(network, shape, 1, [](int) { return 0; });
  nodes.route(network, [](int, int, std::vector<LinkId>&) {});
  return network;
}

}  // namespace

std::vector<TopologyPlugin> star() {
  return {
      {{.name = "star", .summary = "one non-blocking switch that every node is plugged into", .citation = ""},
       make_star}};
}

}  // namespace simsgd::topologies

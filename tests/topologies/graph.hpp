// Checks routes against Boost.Graph, and builds networks by plug-in name.
#pragma once

#include <doctest/doctest.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/refusal.hpp"
#include "topologies/topology.hpp"

namespace simsgd::test {

/// One GPU per node, 1 GB/s and 2 us: numbers that are easy by hand.
inline NodeShape plain_nodes(int nodes) {
  NodeShape shape;
  shape.nodes = nodes;
  shape.nic_Bps = 1e9;
  shape.nic_latency_s = 2e-6;
  return shape;
}

/// Four GPUs per node on NVLink (100 GB/s, 1 us), two rails.
inline NodeShape railed_nodes(int nodes) {
  NodeShape shape = plain_nodes(nodes);
  shape.gpus_per_node = 4;
  shape.gpu_link_Bps = 100e9;
  shape.gpu_link_latency_s = 1e-6;
  shape.nics = 2;
  return shape;
}

inline const TopologyPlugin& plugin(const std::string& name) {
  for (const TopologyPlugin& candidate : topology_plugins())
    if (candidate.info.name == name) return candidate;
  FAIL("no topology " << name);
  return topology_plugins().front();
}

inline Network make(const std::string& name, const NodeShape& shape,
                    const Json& parameters = Json::object()) {
  return plugin(name).make(parameters, shape);
}

/// The text of the error that these parameters cause; empty if there is none.
inline std::string error_of(const std::string& name, const NodeShape& shape, const Json& parameters) {
  return refusal_of<ParameterError>([&] { make(name, shape, parameters); });
}

inline std::vector<LinkId> route(const Network& network, int from, int to) {
  std::vector<LinkId> path;
  network.route(from, to, path);
  return path;
}

inline const Link& link(const Network& network, LinkId id) {
  return network.links[static_cast<std::size_t>(id)];
}

inline std::vector<std::string> names(const Network& network, const std::vector<LinkId>& path) {
  std::vector<std::string> result;
  for (const LinkId id : path) result.push_back(link(network, id).name);
  return result;
}

/// The link names of the route, for comparison with a list written by hand.
inline std::vector<std::string> route_names(const Network& network, int from, int to) {
  return names(network, route(network, from, to));
}

using Weight = std::function<int(const Link&)>;
inline int one_hop(const Link&) { return 1; }

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, int>>;

inline Graph graph_of(const Network& network, const Weight& weight) {
  Graph graph(static_cast<std::size_t>(network.vertices));
  for (const Link& edge : network.links)
    boost::add_edge(static_cast<std::size_t>(edge.from_vertex), static_cast<std::size_t>(edge.to_vertex),
                    weight(edge), graph);
  return graph;
}

inline std::vector<int> distances(const Graph& graph, int from) {
  std::vector<int> result(boost::num_vertices(graph));
  boost::dijkstra_shortest_paths(graph, static_cast<std::size_t>(from), boost::distance_map(result.data()));
  return result;
}

/// Total weight of a path that must be connected, without a repeated link, and join the two vertices.
inline int walk(const Network& network, const std::vector<LinkId>& path, int from, int to,
                const Weight& weight) {
  int at = from, total = 0;
  for (const LinkId id : path) {
    const Link& edge = link(network, id);
    REQUIRE(edge.from_vertex == at);
    at = edge.to_vertex;
    total += weight(edge);
  }
  REQUIRE(at == to);
  REQUIRE(std::set<LinkId>(path.begin(), path.end()).size() == path.size());
  return total;
}

/// Every route is a connected path of the least weight that the graph has, and as long as its reverse.
inline void check_routes(const Network& network, int gpus_per_node, const Weight& weight = one_hop) {
  const Graph graph = graph_of(network, weight);
  const auto vertex = [&](int endpoint, bool inside) {
    return inside ? endpoint : network.endpoints + endpoint / gpus_per_node;
  };
  for (int from = 0; from < network.endpoints; ++from) {
    const std::vector<int> between = distances(graph, vertex(from, false));
    const std::vector<int> within = distances(graph, from);
    for (int to = 0; to < network.endpoints; ++to) {
      if (from == to) continue;
      CAPTURE(from);
      CAPTURE(to);
      const bool inside = from / gpus_per_node == to / gpus_per_node;
      const int goal = vertex(to, inside);
      const std::vector<LinkId> path = route(network, from, to);
      const int length = walk(network, path, vertex(from, inside), goal, weight);
      REQUIRE(length == (inside ? within : between)[static_cast<std::size_t>(goal)]);
      REQUIRE(path.size() == route(network, to, from).size());
    }
  }
}

/// Messages on the busiest link whose name contains `part`, when each endpoint of `order` sends to the next
/// one and the last to the first.
inline int busiest_in_ring(const Network& network, const std::vector<int>& order, const std::string& part) {
  std::vector<int> messages(network.links.size(), 0);
  int busiest = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const LinkId id : route(network, order[i], order[(i + 1) % order.size()]))
      if (link(network, id).name.find(part) != std::string::npos)
        busiest = std::max(busiest, ++messages[static_cast<std::size_t>(id)]);
  return busiest;
}

}  // namespace simsgd::test

// The torus against closed forms and the graph that its cables are.
#include <bit>
#include <cstdlib>
#include <map>

#include "graph.hpp"

namespace simsgd::test::topologies_torus {

namespace {

Json sizes(const std::vector<int>& dimensions) { return {{"dimensions", dimensions}}; }

/// The fewest cables between two halves of the routers, over all halvings.
int bisection(const Network& network, const NodeShape& shape) {
  const int first = 2 * shape.nodes, routers = network.vertices - first;
  int fewest = 1000;
  for (unsigned half = 0; half < 1U << routers; ++half) {
    if (2 * std::popcount(half) != routers) continue;
    int cut = 0;
    for (const Link& each : network.links)
      if (each.from_vertex >= first && each.to_vertex >= first)
        cut += (half >> (each.from_vertex - first) & 1U) > (half >> (each.to_vertex - first) & 1U);
    fewest = std::min(fewest, cut);
  }
  return fewest;
}

/// Ordered pairs that cross each link.
std::vector<int> load_of_all_pairs(const Network& network) {
  std::vector<int> load(network.links.size(), 0);
  for (int from = 0; from < network.endpoints; ++from)
    for (int to = 0; to < network.endpoints; ++to)
      if (from != to)
        for (const LinkId id : route(network, from, to)) ++load[static_cast<std::size_t>(id)];
  return load;
}

}  // namespace

TEST_CASE("torus: the distance is the sum over dimensions of the shorter way round, and no way is shorter") {
  for (const auto& dimensions :
       std::vector<std::vector<int>>{{7}, {4, 4}, {2, 3, 4}, {5, 1, 2}, {2, 2, 2, 3}, {1}}) {
    int nodes = 1;
    for (const int k : dimensions) nodes *= k;
    const Network network = make("torus", plain_nodes(nodes), sizes(dimensions));
    check_routes(network, 1);
    for (int from = 0; from < nodes; ++from)
      for (int to = 0; to < nodes; ++to) {
        if (from == to) continue;
        int hops = 0;
        for (int a = from, b = to, i = 0; i < static_cast<int>(dimensions.size()); ++i) {
          const int k = dimensions[static_cast<std::size_t>(i)], apart = std::abs(a % k - b % k);
          hops += std::min(apart, k - apart);
          a /= k;
          b /= k;
        }
        REQUIRE(route(network, from, to).size() == static_cast<std::size_t>(hops + 2));
      }
  }
}

TEST_CASE("torus: dimensions are crossed in order, the first one first") {
  const Network network = make("torus", plain_nodes(12), sizes({4, 3}));
  // Router 1 is (1, 0), router 11 is (3, 2): two up (odd coordinates send downwards), one down in the other.
  CHECK(route_names(network, 1, 11) == std::vector<std::string>{"node1.nic0.up", "router1>router0",
                                                                "router0>router3", "router3>router11",
                                                                "node11.nic0.down"});
  CHECK(route_names(network, 0, 2) ==
        std::vector<std::string>{"node0.nic0.up", "router0>router1", "router1>router2", "node2.nic0.down"});
}

TEST_CASE(
    "torus: no halving cuts fewer cables than that of the largest dimension: 2 N / k, of size 2 half of it") {
  struct Case {
    std::vector<int> dimensions;
    int cables;
  };
  for (const Case& each : {Case{{8}, 2}, {{4, 4}, 8}, {{3, 4}, 6}, {{2, 2, 2}, 4}, {{2, 6}, 4}}) {
    int nodes = 1;
    for (const int k : each.dimensions) nodes *= k;
    const NodeShape shape = plain_nodes(nodes);
    CAPTURE(nodes);
    CHECK(bisection(make("torus", shape, sizes(each.dimensions)), shape) == each.cables);
  }
}

TEST_CASE("torus: all to all, a ring of even k carries k^2 / 8 per direction, and both the same") {
  // Of 8 x 8 routers, each ring of a dimension carries the pairs of its line, times the 8 of the other one.
  const Network network = make("torus", plain_nodes(64), sizes({8, 8}));
  const std::vector<int> load = load_of_all_pairs(network);
  std::map<int, int> links_of_load;
  for (std::size_t i = 0; i < load.size(); ++i)
    if (network.links[i].name.starts_with("router")) ++links_of_load[load[i]];
  CHECK(links_of_load == std::map<int, int>{{8 * 8 * 8 / 8, 256}});
}

TEST_CASE("torus: by rule 100 nodes are 5 x 5 x 4 routers, and a cable is as fast as a NIC") {
  Json options = {{"name", "torus"}};
  plugin("torus").complete(options, plain_nodes(100));
  CHECK(options["dimensions"] == Json({5, 5, 4}));
  CHECK(options["bandwidth"] == 1e9);
  const Network network = make("torus", plain_nodes(8), {{"dimensions", {8}}, {"switch_latency", 1e-6}});
  const PathCost cost = network.path_cost(0, 3);
  CHECK(cost.alpha_s == doctest::Approx(2e-6 + 3 * 1e-6).epsilon(1e-12));
  CHECK(cost.beta_s_per_byte == 1e-9);
}

}  // namespace simsgd::test::topologies_torus

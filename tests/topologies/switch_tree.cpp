#include <nlohmann/json.hpp>
#include <numeric>

#include "graph.hpp"
#include "sim/base/random.hpp"

namespace simsgd::test::topologies_switch_tree {

using Names = std::vector<std::string>;

namespace {

/// The 32 machines of gTop-k (arXiv 1901.04359) on 8-port switches: 5 switches of 7 + 6 + 6 + 6 + 7 nodes.
Network gtopk_chain() {
  NodeShape shape = plain_nodes(32);
  shape.nic_Bps = 1e9 / 8;
  return make("switch_tree", shape, {{"shape", "chain"}, {"ports", 8}, {"switch_latency", "3 us"}});
}

std::vector<int> node_order(int nodes) {
  std::vector<int> order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST_CASE("a chain of 8-port switches holds 7 nodes at its ends and 6 between") {
  const Network chain = gtopk_chain();
  CHECK(chain.vertices == 32 + 32 + 5);
  CHECK(chain.links.size() == 64 + 2 * 4);
  CHECK(route_names(chain, 0, 6) == Names{"node0.nic0.up", "node6.nic0.down"});
  CHECK(route_names(chain, 6, 7) == Names{"node6.nic0.up", "switch0>switch1", "node7.nic0.down"});
  CHECK(route_names(chain, 13, 12) == Names{"node13.nic0.up", "switch2>switch1", "node12.nic0.down"});
  CHECK(route_names(chain, 25, 31) == Names{"node25.nic0.up", "node31.nic0.down"});
  check_routes(chain, 1);
}

TEST_CASE("every further switch of a chain adds its latency; the cable is as fast as a NIC") {
  const Network chain = gtopk_chain();
  const PathCost cost = chain.path_cost(0, 31);  // 5 switches: 2 us + 4 x 3 us
  CHECK(cost.alpha_s == doctest::Approx(14e-6).epsilon(1e-12));
  CHECK(cost.beta_s_per_byte == 8e-9);
}

TEST_CASE("a ring along the chain puts one message on each cable, one that alternates between its ends 13") {
  const Network chain = gtopk_chain();
  CHECK(busiest_in_ring(chain, node_order(32), ">") == 1);
  // 0, 31, 1, 30, ...: each of the 13 nodes left of the second cable sends across it to the far end.
  std::vector<int> alternating;
  for (int i = 0; i < 16; ++i) alternating.insert(alternating.end(), {i, 31 - i});
  CHECK(busiest_in_ring(chain, alternating, ">") == 13);
}

TEST_CASE("a ring in random order puts about 8 messages on a middle cable at P = 32 and 4 at P = 16") {
  // Cable 1 parts 13 nodes from 19. A ring edge crosses it forwards with probability 13 x 19 / (32 x 31):
  // 32 edges: 7.97; 16 edges of the first 16 in a random order: 3.98. papers/gtopk.md says 8 and 4.
  const Network chain = gtopk_chain();
  for (const int workers : {32, 16}) {
    double sum = 0;
    constexpr int kDraws = 4000;
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      Stream stream({.seed = 7, .purpose = Purpose::placement, .entity = 0, .step = draw});
      std::vector<int> order = node_order(32);
      for (std::uint32_t i = 31; i > 0; --i) std::swap(order[i], order[stream.below(i + 1)]);
      order.resize(static_cast<std::size_t>(workers));
      sum += busiest_in_ring(chain, order, "switch1>switch2");
    }
    CAPTURE(workers);
    CHECK(sum / kDraws == doctest::Approx(workers * 13.0 * 19.0 / (32 * 31)).epsilon(0.02));
  }
}

TEST_CASE("nodes that fit one switch make one switch, with all its ports") {
  for (const char* shape : {"tree", "chain"}) {
    const Network one = make("switch_tree", plain_nodes(8), {{"shape", shape}, {"ports", 8}});
    CHECK(one.vertices == 8 + 8 + 1);
    CHECK(one.path_cost(0, 7).alpha_s == 2e-6);
    const Network two = make("switch_tree", plain_nodes(9), {{"shape", shape}, {"ports", 8}});
    CHECK(two.vertices == 9 + 9 + (shape == std::string("chain") ? 2 : 3));  // a tree has a root
  }
}

TEST_CASE("a balanced tree climbs to the lowest common switch") {
  // 4 ports: leaves of 3 nodes. 15 nodes: 5 leaves, 2 switches above (3 + 2 leaves), 1 root.
  const Network tree = make("switch_tree", plain_nodes(15), {{"ports", 4}, {"switch_latency", "1 us"}});
  CHECK(tree.vertices == 15 + 15 + 5 + 2 + 1);
  CHECK(route_names(tree, 9, 14) == Names{"node9.nic0.up", "switch3.up", "switch4.down", "node14.nic0.down"});
  CHECK(route_names(tree, 0, 14) == Names{"node0.nic0.up", "switch0.up", "switch5.up", "switch6.down",
                                          "switch4.down", "node14.nic0.down"});
  CHECK(tree.path_cost(0, 1).alpha_s == 2e-6);                                  // 1 switch
  CHECK(tree.path_cost(0, 3).alpha_s == doctest::Approx(4e-6).epsilon(1e-12));  // 3 switches
  CHECK(tree.path_cost(0, 9).alpha_s == doctest::Approx(6e-6).epsilon(1e-12));  // 5 switches
  check_routes(tree, 1);
}

TEST_CASE("the root of a tree uses all its ports: 4 ports join 4 leaves in two levels") {
  const Network tree = make("switch_tree", plain_nodes(12), {{"ports", 4}});
  CHECK(tree.vertices == 12 + 12 + 4 + 1);
  CHECK(route_names(tree, 0, 11) == Names{"node0.nic0.up", "switch0.up", "switch3.down", "node11.nic0.down"});
  check_routes(tree, 1);
}

TEST_CASE("oversubscription of a tree holds level by level") {
  // Leaves of 3 nodes at 1 GB/s, 1.5:1: uplink 3 / 1.5 = 2 GB/s; above 3 x 2 / 1.5 = 4 GB/s.
  const Network tree = make("switch_tree", plain_nodes(15), {{"ports", 4}, {"oversubscription", 1.5}});
  const std::vector<LinkId> path = route(tree, 0, 14);
  REQUIRE(path.size() == 6);
  CHECK(link(tree, path[1]).bandwidth_Bps == doctest::Approx(2e9));
  CHECK(link(tree, path[2]).bandwidth_Bps == doctest::Approx(4e9));
  // A slow uplink bounds a lone message: 3 / 6 = 0.5 GB/s.
  const Network slow = make("switch_tree", plain_nodes(15), {{"ports", 4}, {"oversubscription", 6}});
  CHECK(slow.path_cost(0, 3).beta_s_per_byte == doctest::Approx(2e-9));
  const Network cable = make("switch_tree", plain_nodes(15), {{"ports", 4}, {"uplink", "100 Mbps"}});
  CHECK(cable.path_cost(0, 3).beta_s_per_byte == doctest::Approx(8e-8));
}

TEST_CASE("a node with two rails takes two ports") {
  // 8 ports, chain: ends (8 - 1) / 2 = 3 nodes, between (8 - 2) / 2 = 3. Seven nodes: 3 + 3 + 1.
  const Network chain = make("switch_tree", railed_nodes(7), {{"shape", "chain"}, {"ports", 8}});
  CHECK(chain.vertices == 28 + 7 + 3);
  check_routes(chain, 4);
  check_routes(make("switch_tree", railed_nodes(7), {{"ports", 8}}), 4);
}

}  // namespace simsgd::test::topologies_switch_tree

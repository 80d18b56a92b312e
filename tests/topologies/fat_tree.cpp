#include <map>
#include <nlohmann/json.hpp>

#include "graph.hpp"

namespace simsgd::test::topologies_fat_tree {

using Names = std::vector<std::string>;

TEST_CASE("a fat tree crosses three switches between leaves and one inside a leaf") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}, {"switch_latency", "1 us"}});
  CHECK(tree.vertices == 16 + 16 + 4 + 4);
  CHECK(tree.path_cost(0, 3).alpha_s == 2e-6);
  CHECK(tree.path_cost(0, 4).alpha_s == doctest::Approx(4e-6).epsilon(1e-12));
  CHECK(tree.path_cost(0, 4).beta_s_per_byte == 1e-9);
  check_routes(tree, 1);
  check_routes(make("fat_tree", railed_nodes(6), {{"leaf_nodes", 2}}), 4);
}

TEST_CASE("the spine is the destination's NIC modulo the spines") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}});
  CHECK(route_names(tree, 0, 5) ==
        Names{"node0.nic0.up", "leaf0.spine1.up", "leaf1.spine1.down", "node5.nic0.down"});
  CHECK(route_names(tree, 9, 5) ==
        Names{"node9.nic0.up", "leaf2.spine1.up", "leaf1.spine1.down", "node5.nic0.down"});
}

TEST_CASE("d-mod-k routes every shift of a 1:1 fat tree without two messages on a link (Zahavi 2010)") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}});
  for (int shift = 1; shift < 16; ++shift) {
    CAPTURE(shift);
    std::vector<int> messages(tree.links.size(), 0);
    for (int from = 0; from < 16; ++from)
      for (const LinkId id : route(tree, from, (from + shift) % 16))
        CHECK(++messages[static_cast<std::size_t>(id)] == 1);
  }
}

TEST_CASE("4:1, two leaves of four nodes: one message on the uplink in node order, four when all cross") {
  // One spine; the uplink is 4 x 1 GB/s / 4 = 1 GB/s.
  const Network tree = make("fat_tree", plain_nodes(8), {{"leaf_nodes", 4}, {"oversubscription", 4}});
  CHECK(tree.vertices == 8 + 8 + 2 + 1);
  CHECK(tree.path_cost(0, 4).beta_s_per_byte == doctest::Approx(1e-9));
  CHECK(busiest_in_ring(tree, {0, 1, 2, 3, 4, 5, 6, 7}, "leaf") == 1);  // 3 -> 4 and 7 -> 0
  CHECK(busiest_in_ring(tree, {0, 4, 1, 5, 2, 6, 3, 7}, "leaf") == 4);  // every edge crosses
  // A shuffled order: 6-2 2-7 7-0 0-3 3-5 5-1 1-4 4-6. Up from leaf 0: 2-7, 3-5, 1-4; from leaf 1: 6-2, 7-0,
  // 5-1. Three each.
  CHECK(busiest_in_ring(tree, {6, 2, 7, 0, 3, 5, 1, 4}, "leaf") == 3);
}

TEST_CASE("static routing collides where the destinations agree modulo the spines") {
  // 2 spines. From leaf 0: 0 -> 4 and 1 -> 6 both take spine 0; 1 -> 5 would take spine 1.
  const Network tree = make("fat_tree", plain_nodes(8), {{"leaf_nodes", 4}, {"oversubscription", 2}});
  CHECK(route(tree, 0, 4)[1] == route(tree, 1, 6)[1]);
  CHECK(route(tree, 0, 4)[1] != route(tree, 1, 5)[1]);
}

TEST_CASE("with `spines` the uplinks share out the leaf's bandwidth") {
  // 16 nodes at 1 GB/s over 4 spines, 2:1: 16 / (2 x 4) = 2 GB/s each.
  const Network tree = make("fat_tree", plain_nodes(32), {{"spines", 4}, {"oversubscription", 2}});
  CHECK(link(tree, route(tree, 0, 16)[1]).bandwidth_Bps == doctest::Approx(2e9));
  CHECK(tree.path_cost(0, 16).beta_s_per_byte == 1e-9);  // the NIC is the narrowest
}

TEST_CASE("four racks, 3:1: what leaves a rack shares a third of what its nodes can send") {
  // 16 nodes at 1 GB/s, 4 in a rack: 4 / 3 GB/s for each rack, whatever divides by what.
  const Network tree = make("fat_tree", plain_nodes(16), {{"racks", 4}, {"oversubscription", 3}});
  CHECK(tree.vertices == 16 + 16 + 4 + 1);
  CHECK(link(tree, route(tree, 0, 4)[1]).bandwidth_Bps == doctest::Approx(4e9 / 3));
  CHECK(route(tree, 0, 3).size() == 2);
  for (int rank = 0; rank < 4; ++rank)  // all that a rack sends takes one uplink
    CHECK(route(tree, rank, 4 + rank)[1] == route(tree, 0, 15)[1]);
  check_routes(tree, 1);
}

TEST_CASE("racks are filled evenly: 10 nodes in 4 racks are 3 + 2 + 3 + 2") {
  const Network tree = make("fat_tree", plain_nodes(10), {{"racks", 4}});
  std::map<LinkId, int> nodes_at;
  for (int node = 0; node < 10; ++node) {
    const int far = node < 5 ? 9 : 0;
    ++nodes_at[route(tree, node, far)[1]];
  }
  CHECK(nodes_at.size() == 4);
  for (const auto& each : nodes_at) CHECK((each.second == 2 || each.second == 3));
  CHECK(make("fat_tree", plain_nodes(10), {{"racks", 1}}).vertices == 10 + 10 + 1);
}

TEST_CASE("nodes of one leaf need no spine") {
  const Network tree = make("fat_tree", plain_nodes(16));
  CHECK(tree.vertices == 16 + 16 + 1);
  CHECK(tree.links.size() == 32);
}

TEST_CASE("impossible fat trees are rejected in words") {
  const NodeShape shape = plain_nodes(64);
  CHECK(
      error_of("fat_tree", shape, {{"oversubscription", 3}}) ==
      "/oversubscription: does not divide the 16 NICs of a leaf. Give one that does, or the number of spines too");
  CHECK(
      error_of("fat_tree", shape, {{"oversubscription", 32}}) ==
      "/oversubscription: does not divide the 16 NICs of a leaf. Give one that does, or the number of spines too");
  CHECK(error_of("fat_tree", shape, {{"oversubscription", 3}, {"spines", 4}}) == "");
  CHECK(error_of("fat_tree", shape, {{"racks", 4}, {"leaf_nodes", 16}}) ==
        "/racks: contradicts \"leaf_nodes\". Give one of the two");
  CHECK(error_of("fat_tree", shape, {{"racks", 65}}) == "/racks: are more than the 64 nodes. Give fewer");
  CHECK(error_of("fat_tree", shape, {{"racks", 0}}) ==
        "/racks: is out of range. Write a whole number from 1 to 65536");
  CHECK(error_of("fat_tree", shape, {{"leaf_nodes", 0}}) ==
        "/leaf_nodes: is out of range. Write a whole number from 1 to 65536");
  CHECK(error_of("fat_tree", plain_nodes(65536), {{"leaf_nodes", 1}, {"spines", 1000}}) ==
        "/spines: makes 65536000 cables between switches. Give a network of at most 20000000");
}

}  // namespace simsgd::test::topologies_fat_tree

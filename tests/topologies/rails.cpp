// Rails: which switches a message sees.
#include <algorithm>

#include "graph.hpp"

namespace simsgd::test::topologies_rails {

TEST_CASE("rails: on one rail of a group a message sees one switch, across rails a spine") {
  const Network network = make("rails", railed_nodes(4), {{"spines", 2}});
  for (int from = 0; from < 16; ++from)
    for (int to = 0; to < 16; ++to) {
      if (from / 4 == to / 4) continue;
      // GPUs 0 and 1 of a node are on one rail, 2 and 3 on the other.
      const bool one_rail = from % 4 / 2 == to % 4 / 2;
      CHECK(walk(network, route(network, from, to), 16 + from / 4, 16 + to / 4, one_hop) ==
            (one_rail ? 2 : 4));
    }
  CHECK(route_names(network, 0, 5) == std::vector<std::string>{"node0.nic0.up", "node1.nic0.down"});
  CHECK(route_names(network, 3, 6) == std::vector<std::string>{"node0.nic1.up", "node1.nic1.down"});
  // NIC 3 of all is odd: spine 1.
  CHECK(route_names(network, 0, 7) == std::vector<std::string>{"node0.nic0.up", "group0.rail0.spine1.up",
                                                               "group0.rail1.spine1.down",
                                                               "node1.nic1.down"});
  CHECK(route_names(network, 0, 3) == std::vector<std::string>{"gpu0.up", "gpu3.down"});
}

TEST_CASE("rails: by NVLink a message changes the rail inside the sender's node, and needs no spine") {
  const Network network = make("rails", railed_nodes(4), {{"spines", 0}, {"cross_rail", "nvlink"}});
  CHECK(route_names(network, 1, 7) ==
        std::vector<std::string>{"gpu1.up", "gpu2.down", "node0.nic1.up", "node1.nic1.down"});
  CHECK(route_names(network, 2, 4) ==
        std::vector<std::string>{"gpu2.up", "gpu0.down", "node0.nic0.up", "node1.nic0.down"});
  // NVLink's latency and the NIC's; the narrowest is the NIC.
  const PathCost cost = network.path_cost(1, 7);
  CHECK(cost.alpha_s == doctest::Approx(1e-6 + 2e-6).epsilon(1e-12));
  CHECK(cost.beta_s_per_byte == 1e-9);
}

TEST_CASE("rails: groups have switches of their own, and uplinks carry group_nodes / oversubscription NICs") {
  const Network network = make("rails", railed_nodes(8), {{"group_nodes", 4}, {"oversubscription", 2}});
  // 4 NICs on a rail switch, half of that upwards: two spines as fast as a NIC.
  const auto uplinks = std::count_if(network.links.begin(), network.links.end(), [](const Link& each) {
    return each.name.starts_with("group") && each.name.ends_with(".up") && each.bandwidth_Bps == 1e9;
  });
  CHECK(uplinks == 2 * 2 * 2);  // groups, rails, spines
  CHECK(route_names(network, 0, 16) == std::vector<std::string>{"node0.nic0.up", "group0.rail0.spine0.up",
                                                                "group1.rail0.spine0.down",
                                                                "node4.nic0.down"});
  CHECK(route(network, 0, 12).size() == 2);  // node 3 is the last of the group
}

TEST_CASE("rails: a ring over ranks of one GPU number never leaves its rail, so no uplink is used") {
  const Network network = make("rails", railed_nodes(16));
  std::vector<int> order;
  for (int node = 0; node < 16; ++node) order.push_back(4 * node + 2);
  CHECK(busiest_in_ring(network, order, "spine") == 0);
}

TEST_CASE("rails: more NICs than GPUs are refused") {
  NodeShape shape = plain_nodes(4);
  shape.nics = 2;
  CHECK(
      error_of("rails", shape, Json::object()) ==
      "/name: has 2 NICs for 1 GPUs in a node, and each GPU uses one. Set /cluster/nic/count to at most the GPUs of a node");
}

}  // namespace simsgd::test::topologies_rails

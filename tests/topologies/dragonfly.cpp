#include <map>
#include <nlohmann/json.hpp>

#include "graph.hpp"

namespace simsgd::test::topologies_dragonfly {

using Names = std::vector<std::string>;

namespace {

constexpr double kGlobal_Bps = 4.7e9;

bool is_global(const Link& link) { return link.bandwidth_Bps == kGlobal_Bps; }

/// A route may cross one cable between groups, so that a detour by a third group is not a shorter one.
int one_group_hop(const Link& link) { return is_global(link) ? 1000 : 1; }

}  // namespace

TEST_CASE("routes are minimal for every number of cables between groups") {
  for (const int rows : {1, 2}) {
    for (const int cables : {1, 2, 3, 4, 6}) {
      if (cables > rows * 3) continue;
      CAPTURE(rows);
      CAPTURE(cables);
      const Json parameters = {
          {"nodes_per_router", 2}, {"rows", rows}, {"columns", 3}, {"groups", 5}, {"global_links", cables}};
      check_routes(make("dragonfly", plain_nodes(2 * rows * 3 * 5), parameters), 1, one_group_hop);
    }
  }
  check_routes(make("dragonfly", railed_nodes(24),
                    {{"nodes_per_router", 2}, {"rows", 2}, {"columns", 2}, {"global_links", 2}}),
               4, one_group_hop);
}

TEST_CASE("the canonical dragonfly: 4 routers, 9 groups, exactly two cables to other groups on each router") {
  // Kim et al. 2008: a = 4, h = 2, g = a h + 1 = 9.
  const Network network = make("dragonfly", plain_nodes(72),
                               {{"nodes_per_router", 2}, {"rows", 1}, {"columns", 4}, {"global_links", 1}});
  CHECK(network.vertices == 72 + 72 + 36);
  std::map<int, int> cables;
  for (const Link& edge : network.links)
    if (is_global(edge)) ++cables[edge.from_vertex];
  CHECK(cables.size() == 36);
  for (const auto& [router, count] : cables) {
    CAPTURE(router);
    CHECK(count == 2);
  }
}

TEST_CASE("a pair's cables sit on different routers, and routers differ by at most one cable") {
  // 6 groups of 8 routers, 3 cables per pair: 15 cables on 8 routers, one or two each.
  const Network network =
      make("dragonfly", plain_nodes(48),
           {{"nodes_per_router", 1}, {"rows", 2}, {"columns", 4}, {"groups", 6}, {"global_links", 3}});
  std::map<int, int> cables;
  std::map<std::pair<int, int>, int> of_pair;  // (router, other group)
  for (const Link& edge : network.links) {
    if (!is_global(edge)) continue;
    ++cables[edge.from_vertex];
    CHECK(++of_pair[{edge.from_vertex, (edge.to_vertex - 96) / 8}] == 1);
  }
  CHECK(cables.size() == 48);
  for (const auto& [router, count] : cables) CHECK((count == 1 || count == 2));
}

TEST_CASE("Aries by default: 4 nodes a router, 16 routers a row, 6 rows, 384 nodes a group") {
  NodeShape shape = plain_nodes(384);
  shape.nic_Bps = 10e9;
  const Network group = make("dragonfly", shape, {{"switch_latency", "100 ns"}});
  CHECK(group.vertices == 384 + 384 + 96);
  // 384 NICs, 6 rows of 16 x 15 / 2 and 16 columns of 6 x 5 / 2 cables, two links each.
  CHECK(group.links.size() == 2 * (384 + 6 * 120 + 16 * 15));
  CHECK(group.path_cost(0, 3).alpha_s == 2e-6);  // one router
  const PathCost row = group.path_cost(0, 4), column = group.path_cost(0, 64), both = group.path_cost(0, 383);
  CHECK(row.alpha_s == doctest::Approx(2.1e-6).epsilon(1e-12));
  CHECK(row.beta_s_per_byte == 1 / 5.25e9);
  CHECK(column.alpha_s == doctest::Approx(2.1e-6).epsilon(1e-12));
  CHECK(column.beta_s_per_byte == 1 / 10e9);  // the column's 15.75 GB/s is more than the NIC has
  CHECK(both.alpha_s == doctest::Approx(2.2e-6).epsilon(1e-12));
  CHECK(route_names(group, 0, 383) ==
        Names{"node0.nic0.up", "router0>router15", "router15>router95", "node383.nic0.down"});
}

TEST_CASE("between two full Aries groups every router has its own cable, so a message takes at most 3 hops") {
  NodeShape shape = plain_nodes(768);
  shape.nic_Bps = 10e9;
  const Network network = make("dragonfly", shape, {{"switch_latency", "100 ns"}});
  // Router 0 of group 0 to router 95 of group 1: one global hop, one row hop, one column hop.
  CHECK(network.path_cost(0, 767).alpha_s == doctest::Approx(2.3e-6).epsilon(1e-12));
  CHECK(network.path_cost(0, 767).beta_s_per_byte == 1 / kGlobal_Bps);
  CHECK(network.path_cost(0, 384).alpha_s == doctest::Approx(2.1e-6).epsilon(1e-12));
}

TEST_CASE("messages to different nodes are spread over equally near cables") {
  // Two groups of one row of 8 routers with 4 cables, on routers 0, 2, 4, 6. From router 1 to router 1 every
  // cable is two local hops away: destinations 8, 9, 10, 11 of that router take four different ones.
  const Network network = make("dragonfly", plain_nodes(64),
                               {{"nodes_per_router", 4}, {"rows", 1}, {"columns", 8}, {"global_links", 4}});
  std::map<LinkId, int> messages;
  for (int to = 36; to < 40; ++to)
    for (const LinkId id : route(network, 4, to))
      if (is_global(link(network, id))) ++messages[id];
  CHECK(messages.size() == 4);
}

}  // namespace simsgd::test::topologies_dragonfly

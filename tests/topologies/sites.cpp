// Sites: the same network as a file that says it cable by cable; windows and uplinks by hand; what is
// refused.
#include "network_files.hpp"

namespace simsgd::test::topologies_sites {

namespace {

Json link_of(const std::string& one, const std::string& other, const std::string& bandwidth,
             double latency_s) {
  return {{"between", {one, other}}, {"bandwidth", bandwidth}, {"latency", latency_s}};
}

/// Two sites of two nodes, 100 MB/s and 50 ms apart.
Json two_sites() {
  return {{"sites", {{{"name", "east"}}, {{"name", "west"}}}},
          {"links", {link_of("east", "west", "100 MB/s", 0.05)}}};
}

}  // namespace

TEST_CASE("sites: four regions cost what the file of their cables says, and share the same links") {
  NodeShape shape = plain_nodes(16);
  shape.nic_Bps = 12.5e9;
  shape.nic_latency_s = 0;
  const Network file =
      make("dot", shape, {{"path", SIMSGD_SOURCE_DIR "/scenarios/networks/four-regions.dot"}});
  const auto link = [](const char* one, const char* other, const char* bandwidth) {
    return link_of(one, other, bandwidth, 0.03);
  };
  const auto site = [](const char* name) { return Json{{"name", name}, {"nodes", 4}}; };
  shape.nic_latency_s = 10e-6;  // the file's two cables of 5 us
  const Network sites =
      make("sites", shape,
           {{"sites", {site("0"), site("1"), site("2"), site("3")}},
            {"links",
             {link("0", "1", "0.537 Gbps"), link("2", "0", "0.935 Gbps"), link("0", "3", "0.202 Gbps"),
              link("1", "2", "0.386 Gbps"), link("3", "1", "0.117 Gbps"), link("2", "3", "0.127 Gbps")}}});
  for (int from = 0; from < 16; ++from)
    for (int to = 0; to < 16; ++to) {
      if (from == to) continue;
      CAPTURE(from);
      CAPTURE(to);
      const PathCost mine = sites.path_cost(from, to), theirs = file.path_cost(from, to);
      CHECK(mine.alpha_s == doctest::Approx(theirs.alpha_s).epsilon(1e-12));
      CHECK(mine.beta_s_per_byte == doctest::Approx(theirs.beta_s_per_byte).epsilon(1e-12));
    }
  check_routes(sites, 1);
  // All 16 pairs of two regions meet on one cable, each direction its own.
  CHECK(route_names(sites, 1, 14) == std::vector<std::string>{"node1.nic0.up", "0.3", "node14.nic0.down"});
  CHECK(route_names(sites, 14, 1) == std::vector<std::string>{"node14.nic0.up", "3.0", "node1.nic0.down"});
  CHECK(route_names(sites, 2, 12)[1] == "0.3");
}

TEST_CASE("sites: an uplink is shared by all that a site sends to others") {
  Json options = {
      {"sites", {{{"name", "a"}, {"nodes", 2}, {"uplink", "10 MB/s"}}, {{"name", "b"}}, {{"name", "c"}}}},
      {"bandwidth", "100 MB/s"},
      {"latency", "1 ms"}};
  const Network network = make("sites", plain_nodes(6), options);
  check_routes(network, 1);
  CHECK(route_names(network, 0, 2) ==
        std::vector<std::string>{"node0.nic0.up", "a.uplink", "a.b", "node2.nic0.down"});
  CHECK(route_names(network, 5, 1) ==
        std::vector<std::string>{"node5.nic0.up", "c.a", "a.downlink", "node1.nic0.down"});
  CHECK(route_names(network, 2, 4) == std::vector<std::string>{"node2.nic0.up", "b.c", "node4.nic0.down"});
  CHECK(network.path_cost(0, 2).beta_s_per_byte == doctest::Approx(1e-7).epsilon(1e-12));
}

TEST_CASE("sites: a TCP window limits what one node sends to another, and leaves the rest to others") {
  Json options = two_sites();
  options["tcp_window"] = "2 MB";
  const Network network = make("sites", plain_nodes(4), options);
  // Round trip: 2 (50 ms + 2 us).
  const double window_Bps = 2e6 / (2 * (0.05 + 2e-6));
  CHECK(network.path_cost(0, 2).beta_s_per_byte == doctest::Approx(1 / window_Bps).epsilon(1e-12));
  CHECK(network.path_cost(0, 1).beta_s_per_byte == 1e-9);
  CHECK(route_names(network, 1, 2) ==
        std::vector<std::string>{"node1.nic0.up", "node1.tcp.node2", "east.west", "node2.nic0.down"});
  std::set<LinkId> windows;
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from / 2 != to / 2) windows.insert(route(network, from, to)[1]);
  CHECK(windows.size() == 8);  // each ordered pair its own
  // Five streams fill the link: no window then.
  options["streams"] = 6;
  CHECK(route(make("sites", plain_nodes(4), options), 1, 2).size() == 3);
  CHECK(make("sites", plain_nodes(4), options).path_cost(0, 2).beta_s_per_byte == 1e-8);
}

TEST_CASE("sites: what leaves a site has its price, and nothing else") {
  Json options = two_sites();
  options["sites"][0]["price_usd_per_GB"] = 0.08;
  const Network network = make("sites", plain_nodes(4), options);
  for (const Link& each : network.links)
    CHECK(each.price_usd_per_byte == doctest::Approx(each.name == "east.west" ? 8e-11 : 0).epsilon(1e-12));
}

TEST_CASE("sites: one site is a star, and uneven ones say their nodes") {
  const Network one = make("sites", plain_nodes(3), {{"sites", {{{"name", "here"}}}}});
  CHECK(route_names(one, 0, 2) == std::vector<std::string>{"node0.nic0.up", "node2.nic0.down"});
  Json uneven = two_sites();
  uneven["sites"][0]["nodes"] = 3;
  CHECK(route(make("sites", plain_nodes(4), uneven), 2, 3).size() == 3);
  CHECK(route(make("sites", plain_nodes(4), uneven), 1, 2).size() == 2);
  CHECK(error_of("sites", plain_nodes(5), two_sites()) ==
        "/sites: cannot share 5 nodes equally among the 2 sites without `nodes`. Give each site its `nodes`");
  uneven["sites"][1]["nodes"] = 3;
  CHECK(error_of("sites", plain_nodes(4), uneven) ==
        "/sites: have 6 nodes in total, and the cluster has 4. Give them 4 in total, or leave out `nodes`");
}

}  // namespace simsgd::test::topologies_sites

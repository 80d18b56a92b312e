// Networks from files: what is read, the routes, and that the same network is the same in every format.
#include <sys/resource.h>

#include <filesystem>
#include <tuple>

#include "network_files.hpp"

namespace simsgd::test::topologies_network_files {

namespace {

/// Two racks of two hosts, two spines; 1 GB/s to the hosts, 2 GB/s above.
constexpr const char* kDot = R"(graph {
  edge [bandwidth="1 GB/s", latency="1 us"]
  h0 [type=host]; h1 [type=host]; h2 [type=host]; h10 [type=host]
  h0 -- leaf0; h1 -- leaf0; h2 -- leaf1; h10 -- leaf1;
  edge [bandwidth="16 Gbps", latency="2 us"]
  leaf0 -- spine0; leaf0 -- spine1; leaf1 -- spine0; leaf1 -- spine1;
})";

constexpr const char* kGraphml = R"(<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="k0" for="node" attr.name="type" attr.type="string"/>
  <key id="k1" for="edge" attr.name="bandwidth" attr.type="string"><default>1 GB/s</default></key>
  <key id="k2" for="edge" attr.name="latency" attr.type="double"><default>1e-6</default></key>
  <key id="k3" for="node" yfiles.type="nodegraphics"/>
  <graph edgedefault="undirected">
    <node id="h0"><data key="k0">host</data><data key="k3"><y:ShapeNode><y:Fill/></y:ShapeNode></data></node>
    <node id="h1"><data key="k0">host</data></node>
    <node id="h2"><data key="k0"> host </data></node>
    <node id="h10"><data key="k0">host</data></node>
    <node id="leaf0"/><node id="leaf1"/><node id="spine0"/><node id="spine1"/>
    <edge source="h0" target="leaf0"/><edge source="h1" target="leaf0"/>
    <edge source="h2" target="leaf1"/><edge source="h10" target="leaf1"/>
    <edge source="leaf0" target="spine0"><data key="k1">16 Gbps</data><data key="k2">2 us</data></edge>
    <edge source="leaf0" target="spine1"><data key="k1">2e9</data><data key="k2">2e-6</data></edge>
    <edge source="leaf1" target="spine0"><data key="k1">2 GB/s</data><data key="k2">2000 ns</data></edge>
    <edge source="leaf1" target="spine1"><data key="k1">2000 MB/s</data><data key="k2">0.002 ms</data></edge>
  </graph>
</graphml>)";

constexpr const char* kPlatform = R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Floyd">
    <host id="h0" speed="1Gf"><prop id="rack" value="0"/></host><host id="h1" speed="1Gf"/>
    <host id="h2" speed="1Gf"/><host id="h10" speed="1Gf"/>
    <router id="leaf0"/><router id="leaf1"/><router id="spine0"/><router id="spine1"/>
    <link id="a" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
    <link id="b" bandwidth="1000MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
    <link id="c" bandwidth="8Gbps" latency="1us" sharing_policy="SPLITDUPLEX"/>
    <link id="d" bandwidth="1e9" latency="1E-6" sharing_policy="SPLITDUPLEX"/>
    <link id="u00" bandwidth="16Gbps" latency="2us" sharing_policy="SPLITDUPLEX"/>
    <link id="u01" bandwidth="2GBps" latency="2us" sharing_policy="SPLITDUPLEX"/>
    <link id="u10" bandwidth="2GBps" latency="2us" sharing_policy="SPLITDUPLEX"/>
    <link id="u11" bandwidth="2GBps" latency="2us" sharing_policy="SPLITDUPLEX"/>
    <route src="h0" dst="leaf0"><link_ctn id="a" direction="UP"/></route>
    <route src="h1" dst="leaf0"><link_ctn id="b" direction="UP"/></route>
    <route src="h2" dst="leaf1"><link_ctn id="c" direction="UP"/></route>
    <route src="h10" dst="leaf1"><link_ctn id="d" direction="UP"/></route>
    <route src="leaf0" dst="spine0"><link_ctn id="u00" direction="UP"/></route>
    <route src="leaf0" dst="spine1"><link_ctn id="u01" direction="UP"/></route>
    <route src="leaf1" dst="spine0"><link_ctn id="u10" direction="UP"/></route>
    <route src="leaf1" dst="spine1"><link_ctn id="u11" direction="UP"/></route>
  </zone>
</platform>)";

}  // namespace

TEST_CASE("files of the three formats describe one network: the same routes and costs between all hosts") {
  for (const auto& [name, ending, text] : {std::tuple{"dot", ".dot", kDot},
                                           {"graphml", ".graphml", kGraphml},
                                           {"simgrid_xml", ".xml", kPlatform}}) {
    CAPTURE(name);
    const NetworkFile file(ending, text);
    const Network network = make(name, plain_nodes(4), file.options());
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to) {
        if (from == to) continue;
        const bool near = from / 2 == to / 2;
        // NIC, host to leaf, and above; 2 us of the NIC and 1 us, 2 us of each cable.
        CHECK(route(network, from, to).size() == (near ? 4 : 6));
        const PathCost cost = network.path_cost(from, to);
        CHECK(cost.alpha_s == doctest::Approx(near ? 4e-6 : 8e-6).epsilon(1e-12));
        CHECK(cost.beta_s_per_byte == doctest::Approx(1e-9).epsilon(1e-12));
      }
    // Of two ways as short, node 2 takes the first in the file, node 3 the second, whoever sends.
    for (const int to : {2, 3}) {
      const LinkId up = route(network, 0, to)[2], other = route(network, 1, to)[2];
      CHECK(up == other);
    }
    CHECK(route(network, 0, 2)[2] != route(network, 0, 3)[2]);
  }
}

TEST_CASE(
    "names of hosts are ordered with their numbers by value in DOT, and links are named by their ends") {
  const NetworkFile file(".dot", kDot);
  const Network network = make("dot", plain_nodes(4), file.options());
  CHECK(route_names(network, 2, 3) ==
        std::vector<std::string>{"node2.nic0.up", "h2>leaf1", "leaf1>h10", "node3.nic0.down"});
  check_routes(network, 1);
}

TEST_CASE("a network with fewer nodes than hosts uses the first hosts") {
  const NetworkFile file(".dot", kDot);
  const Network network = make("dot", plain_nodes(2), file.options());
  CHECK(network.endpoints == 2);
  CHECK(route(network, 0, 1).size() == 4);
}

TEST_CASE("hosts pass on what is for others only where the file's network is said to work so") {
  const NetworkFile ring(
      ".dot", "graph { node [type=host]; edge [bandwidth=\"1e9\"]; a -- b; b -- c; c -- d; d -- e; e -- a }");
  CHECK(
      file_refusal("dot", 5, ring)
          .starts_with(
              ring.path() +
              ": has no route from host \"a\" to \"c\", \"a\" to \"d\", \"b\" to \"d\" and 7 more. Add the cables that are missing, or let hosts pass messages on: \"hosts_forward\": true"));
  Json options = ring.options();
  options["hosts_forward"] = true;
  const Network network = make("dot", plain_nodes(5), options);
  check_routes(network, 1);
  CHECK(route(network, 0, 2).size() == 4);
  // A host with two cables is not a short cut between its switches.
  const NetworkFile dual(
      ".dot",
      "graph { edge [bandwidth=\"1e9\"]; h0 [type=host]; h1 [type=host]; h2 [type=host]; h0 -- s0; h1 -- s1; h2 -- s0; h2 -- s1; s0 -- m; m -- n; n -- s1 }");
  CHECK(route(make("dot", plain_nodes(3), dual.options()), 0, 1).size() == 2 + 5);
}

TEST_CASE("two cables between the same ends are two ways") {
  const NetworkFile file(
      ".dot",
      "graph { edge [bandwidth=\"1e9\"]; h0 [type=host]; h1 [type=host]; h2 [type=host]; h0 -- s; h1 -- t; h2 -- t; s -- t; s -- t }");
  const Network network = make("dot", plain_nodes(3), file.options());
  CHECK(route_names(network, 0, 1)[2] == "s>t#2");
  CHECK(route_names(network, 0, 2)[2] == "s>t");
}

TEST_CASE(
    "a SimGrid platform with routing Full: routes as listed, a SHARED link is one for both directions") {
  const NetworkFile file(".xml", R"(<platform version="4.1"><zone id="z" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
    <link id="l" bandwidth="125MBps" latency="50us"/><link id="m" bandwidth="10Gbps" latency="5us"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
    <route src="a" dst="c" symmetrical="NO"><link_ctn id="l"/><link_ctn id="m"/></route>
    <route src="c" dst="a" symmetrical="NO"><link_ctn id="m"/></route>
    <route src="b" dst="c"><link_ctn id="m"/><link_ctn id="l"/></route>
  </zone></platform>)");
  const Network network = make("simgrid_xml", plain_nodes(3), file.options());
  const auto between = [&](int from, int to) {
    std::vector<std::string> all = route_names(network, from, to);
    return std::vector<std::string>(all.begin() + 1, all.end() - 1);
  };
  CHECK(between(0, 1) == std::vector<std::string>{"l"});
  CHECK(between(1, 0) == std::vector<std::string>{"l"});
  CHECK(between(0, 2) == std::vector<std::string>{"l", "m"});
  CHECK(between(2, 0) == std::vector<std::string>{"m"});
  CHECK(between(2, 1) == std::vector<std::string>{"l", "m"});
  CHECK(network.path_cost(0, 2).alpha_s == doctest::Approx(57e-6).epsilon(1e-12));
  CHECK(network.path_cost(0, 2).beta_s_per_byte == doctest::Approx(1 / 125e6).epsilon(1e-12));
}

TEST_CASE("what is drawn can be read: every topology's drawing is a network with as many hops") {
  for (const auto& [name, options] : std::vector<std::pair<std::string, Json>>{
           {"torus", {{"dimensions", {3, 3}}}},
           {"fat_tree", {{"leaf_nodes", 3}}},
           {"star", Json::object()},
           {"switch_tree", {{"ports", 4}}},
           {"dragonfly", {{"nodes_per_router", 1}, {"rows", 1}, {"columns", 3}}}}) {
    CAPTURE(name);
    const Network drawn = make(name, plain_nodes(9), options);
    const NetworkFile file(".dot", to_dot(drawn));
    NodeShape shape = plain_nodes(9);
    shape.nic_latency_s = 0;
    const Network read = make("dot", shape, file.options());
    for (int from = 0; from < 9; ++from)
      for (int to = 0; to < 9; ++to) {
        if (from == to) continue;
        // The NICs once more: those of the nodes before those of the drawing.
        CHECK(route(read, from, to).size() == route(drawn, from, to).size() + 2);
        CHECK(read.path_cost(from, to).beta_s_per_byte == drawn.path_cost(from, to).beta_s_per_byte);
        CHECK(read.path_cost(from, to).alpha_s ==
              doctest::Approx(drawn.path_cost(from, to).alpha_s).epsilon(1e-12));
      }
  }
}

// Files of networks that are wrong, cut off, or meant to do harm: refused with what is wrong, all at once.

namespace {

std::string refusal(const std::string& topology, const std::string& ending, const std::string& text,
                    int nodes = 2) {
  const NetworkFile file(ending, text);
  std::string all = file_refusal(topology, nodes, file);
  for (std::size_t at = 0; (at = all.find(file.path(), at)) != std::string::npos;)
    all.replace(at, file.path().size(), "F");
  return all;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

constexpr const char* kTwo =
    R"(<platform version="4.1"><zone id="z" routing="Full"><host id="a"/><host id="b"/>)"
    R"(<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>)";

}  // namespace

TEST_CASE("half a file, nothing, or something else is refused, wherever it is cut") {
  const std::string whole = kTwo;
  CHECK(refusal("simgrid_xml", ".xml", whole).empty());
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    CAPTURE(cut);
    CHECK(!refusal("simgrid_xml", ".xml", whole.substr(0, cut)).empty());
    CHECK(!refusal("graphml", ".graphml", whole.substr(0, cut)).empty());
    CHECK(!refusal("dot", ".dot", whole.substr(0, cut)).empty());
  }
  const std::string dot =
      "graph { a [type=host]; b [type=host]; a -- s [bandwidth=\"1e9\"]; b -- s [bandwidth=\"1 GB/s\"] }";
  CHECK(refusal("dot", ".dot", dot).empty());
  for (std::size_t cut = 0; cut < dot.size(); cut += 3)
    CHECK(!refusal("dot", ".dot", dot.substr(0, cut)).empty());
  CHECK(has(refusal("simgrid_xml", ".xml", std::string("\0\1\2", 3)), "F:1: is not XML: "));
}

TEST_CASE("what nests without end does not exhaust the stack") {
  std::string deep, braces;
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  braces.assign(1'000'000, '{');
  CHECK(has(refusal("graphml", ".graphml", deep), "nests elements deeper than 64"));
  CHECK(has(refusal("simgrid_xml", ".xml", deep), "nests elements deeper than 64"));
  CHECK(has(refusal("dot", ".dot", "graph " + braces), "has more than 1000 braces"));
  CHECK(!refusal("dot", ".dot", "graph " + std::string(1000, '{')).empty());
}

TEST_CASE("a file of 300 MB is refused without being read, as is what is not a file") {
  const NetworkFile file(".dot", "graph {");
  std::filesystem::resize_file(file.path(), 300'000'000);
  for (const char* name : {"dot", "graphml", "simgrid_xml"}) {
    CHECK(
        file_refusal(name, 2, file) ==
        file.path() +
            ": is larger than 8 MiB. Remove everything but the network, or use a topology of `simsgd list topologies`.");
    for (const auto& [path, what] : {std::pair{"/dev/zero", "is not a file"},
                                     {"/tmp", "is not a file"},
                                     {"/no/such/file.dot", "does not exist"}}) {
      CAPTURE(path);
      std::string said;
      try {
        make(name, plain_nodes(2), {{"path", path}});
      } catch (const ConfigError& error) {
        said = error.what();
      }
      CHECK(said.starts_with(std::string(path) + ": " + what + "."));
    }
  }
}

TEST_CASE("a thousand errors are twenty and a count") {
  std::string text = "graph { ";
  for (int i = 0; i < 1000; ++i) text += "a" + std::to_string(i) + " [type=x]; ";
  const std::string all = refusal("dot", ".dot", text + "}");
  CHECK(std::count(all.begin(), all.end(), '\n') == 20);
  CHECK(has(all, "F: has 1981 more errors. Correct those above first."));
}

}  // namespace simsgd::test::topologies_network_files

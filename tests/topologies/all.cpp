// Facts about every topology.
#include <nlohmann/json.hpp>

#include "graph.hpp"

namespace simsgd::test::topologies_all {

namespace {

/// Those that need no file.
std::vector<TopologyPlugin> made_by_rule() {
  std::vector<TopologyPlugin> all;
  for (const TopologyPlugin& topology : topology_plugins()) {
    Json form;
    topology.form(form);
    if (!form["properties"].contains("path")) all.push_back(topology);
  }
  return all;
}

Json smallest(const TopologyPlugin& topology) {
  if (topology.info.name == "sites") return Json{{"sites", Json::array({Json{{"name", "here"}}})}};
  return topology.info.name == "switch_tree" ? Json{{"ports", 32}} : Json::object();
}

}  // namespace

TEST_CASE("every topology says what it is and describes each of its parameters") {
  std::set<std::string> seen;
  for (const TopologyPlugin& topology : topology_plugins()) {
    CAPTURE(topology.info.name);
    CHECK(seen.insert(topology.info.name).second);
    CHECK(!topology.info.summary.empty());
    Json form;
    topology.form(form);
    for (const auto& [key, schema] : form["properties"].items()) {
      CAPTURE(key);
      CHECK(schema.contains("description"));
    }
    for (const Json& key : form["required"]) CHECK(form["properties"].contains(key));
  }
}

TEST_CASE("options that a rule gives are written, and make the same network") {
  const auto completed = [](const std::string& name, Json options) {
    plugin(name).complete(options, railed_nodes(100));
    CHECK(make(name, railed_nodes(100), options).links.size() > 0);
    return options;
  };
  Json tree = completed("fat_tree", {{"oversubscription", 4}});
  CHECK(tree["leaf_nodes"] == 16);
  CHECK(tree["spines"] == 8);  // 16 nodes of 2 NICs over 4
  tree = completed("fat_tree", {{"racks", 10}});
  CHECK(!tree.contains("leaf_nodes"));
  CHECK(tree["spines"] == 1);
  CHECK(completed("switch_tree", {{"ports", 8}})["uplink"] == 1e9);
  CHECK(!completed("switch_tree", {{"ports", 8}, {"oversubscription", 2}}).contains("uplink"));
  const Json dragonfly = completed("dragonfly", {{"nodes_per_router", 1}, {"rows", 2}, {"columns", 4}});
  CHECK(dragonfly["groups"] == 13);       // 100 nodes, 8 to a group
  CHECK(dragonfly["global_links"] == 6);  // 80 ports over 12 others
}

TEST_CASE("65,536 GPUs, alone or eight to a node, have routes everywhere") {
  for (const TopologyPlugin& topology : made_by_rule()) {
    for (const int gpus_per_node : {1, 8}) {
      CAPTURE(topology.info.name);
      CAPTURE(gpus_per_node);
      NodeShape shape = railed_nodes(65536 / gpus_per_node);
      shape.gpus_per_node = gpus_per_node;
      shape.nics = 1;
      const Network network = topology.make(smallest(topology), shape);
      CHECK(network.endpoints == 65536);
      for (int i = 0; i < 2000; ++i) {
        const int from = i * 7919 % 65536, to = (i * 104729 + 1) % 65536;
        if (from == to) continue;
        const bool inside = from / gpus_per_node == to / gpus_per_node;
        const int start = inside ? from : network.endpoints + from / gpus_per_node;
        const int goal = inside ? to : network.endpoints + to / gpus_per_node;
        walk(network, route(network, from, to), start, goal, one_hop);
      }
    }
  }
}

TEST_CASE("link names are unique") {
  for (const TopologyPlugin& topology : made_by_rule()) {
    CAPTURE(topology.info.name);
    const Network network = topology.make(smallest(topology), railed_nodes(800));
    std::set<std::string> seen;
    for (const Link& each : network.links) {
      CAPTURE(each.name);
      CHECK(seen.insert(each.name).second);
    }
  }
}

TEST_CASE(
    "a cable is two links of equal speed, one each way, and a message back uses no link of the one out") {
  for (const TopologyPlugin& topology : made_by_rule()) {
    CAPTURE(topology.info.name);
    const Network network = topology.make(smallest(topology), railed_nodes(100));
    for (std::size_t i = 0; i < network.links.size(); i += 2) {
      const Link &there = network.links[i], &back = network.links[i + 1];
      CHECK(there.from_vertex == back.to_vertex);
      CHECK(there.to_vertex == back.from_vertex);
      CHECK(there.bandwidth_Bps == back.bandwidth_Bps);
      CHECK(there.latency_s == back.latency_s);
    }
    for (const auto& [from, to] : {std::pair{0, 3}, {0, 399}, {17, 250}}) {
      std::vector<LinkId> both = route(network, from, to);
      network.route(to, from, both);
      CHECK(std::set<LinkId>(both.begin(), both.end()).size() == both.size());
    }
  }
}

}  // namespace simsgd::test::topologies_all

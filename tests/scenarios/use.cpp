// `use`: files under objects, and what wins.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "scenarios/language/json_source.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_use {

namespace {

/// A cluster file of four nodes of two GPUs, its device in a file of its own.
void write_cluster(const Folder& folder) {
  folder.write("scenarios/devices/slow.json",
               R"({"name": "slow", "peak_flops": 1e12, "efficiency": 0.4, "launch": 1})");
  folder.write("scenarios/devices/fast.json", R"({"name": "fast", "peak_flops": 9e12})");
  folder.write("scenarios/clusters/c.json",
               R"({"name": "c", "device": {"use": "devices/slow.json"}, "gpus_per_node": 2,
    "gpu_link": {"bandwidth": "12 GB/s"}, "nic": {"bandwidth": "1 GB/s", "latency": "5 us"},
    "topology": {"name": "switch_tree", "ports": 8, "oversubscription": 4}})");
}

Json with_cluster(const Json& cluster) {
  Json scenario = small_scenario();
  scenario["cluster"] = cluster;
  return scenario;
}

}  // namespace

TEST_CASE("the file is the base, and the keys beside `use` are merged over it, object by object") {
  const Folder folder;
  write_cluster(folder);
  const std::string file = folder.write_json(
      "scenarios/s.json",
      with_cluster({{"use", "clusters/c.json"}, {"workers", 4}, {"nic", {{"latency", "7 us"}}}}));
  const Json cluster = load_scenario(file).resolved["cluster"];
  CHECK(cluster["workers"] == 4);
  CHECK(cluster["nic"] ==
        Json{{"bandwidth", "1 GB/s"}, {"latency", "7 us"}, {"count", 1}, {"segments", Json::array()}});
  CHECK(cluster["device"]["name"] == "slow");
  CHECK(cluster["device"]["efficiency"] == 0.4);
  CHECK(!cluster.contains("use"));
  CHECK(!cluster["device"].contains("use"));
}

TEST_CASE("lists and values replace each other as a whole") {
  const Folder folder;
  folder.write("base.json", R"({"node_speed": [1, 2, 3, 4], "placement": {"name": "random"}})");
  Json scenario = small_scenario();
  scenario["cluster"]["use"] = "base.json";
  scenario["cluster"]["placement"] = "round_robin";
  folder.write_json("s.json", scenario);
  const Json cluster = load_scenario(folder.path("s.json")).resolved["cluster"];
  CHECK(cluster["node_speed"] == Json{1, 2, 3, 4});
  CHECK(cluster["placement"] == "round_robin");
}

TEST_CASE("another device replaces the cluster's device and mixes nothing") {
  const Folder folder;
  write_cluster(folder);
  const std::string file = folder.write_json(
      "scenarios/s.json",
      with_cluster({{"use", "clusters/c.json"}, {"workers", 4}, {"device", {{"use", "devices/fast.json"}}}}));
  const Json device = load_scenario(file).resolved["cluster"]["device"];
  CHECK(device["name"] == "fast");
  CHECK(device["efficiency"] == 0.5);  // the default, not the slow one's
  CHECK(!device.contains("launch"));   // the slow one's; unknown of this one
}

TEST_CASE("a device by `use` replaces one that is written out in the base") {
  const Folder folder;
  write_cluster(folder);
  folder.write("scenarios/inline.json",
               R"({"use": "clusters/c.json", "device": {"name": "own", "memory": 5}})");
  const std::string file = folder.write_json(
      "scenarios/s.json",
      with_cluster({{"use", "inline.json"}, {"workers", 4}, {"device", {{"use", "devices/fast.json"}}}}));
  const Json device = load_scenario(file).resolved["cluster"]["device"];
  CHECK(device["name"] == "fast");
  CHECK(device["memory"] == 0);
}

TEST_CASE("another plug-in's name replaces the object with its parameters") {
  const Folder folder;
  write_cluster(folder);
  Json cluster = {{"use", "clusters/c.json"}, {"workers", 4}, {"topology", {{"name", "star"}}}};
  CHECK(load_scenario(folder.write_json("scenarios/s.json", with_cluster(cluster)))
            .resolved["cluster"]["topology"] == Json{{"name", "star"}});
  cluster["topology"]["name"] = "switch_tree";
  CHECK(load_scenario(folder.write_json("scenarios/s.json", with_cluster(cluster)))
            .resolved["cluster"]["topology"]["oversubscription"] == 4);
}

TEST_CASE("a scenario may use a scenario; a null or another kind of value replaces an object") {
  const Folder folder;
  Json base = small_scenario();
  base["learner"] = small_learner();
  folder.write_json("base.json", base);
  const Json resolved =
      load_scenario(folder.write("s.json", R"({"use": "base.json", "learner": null, "seed": 7})")).resolved;
  CHECK(resolved["learner"].is_null());
  CHECK(resolved["seed"] == 7);
  CHECK(resolved["stop"]["steps"] == 10);
}

TEST_CASE("a setting of `use` keeps what is written beside it, in whichever file") {
  const Folder folder;
  write_cluster(folder);
  folder.write_json("scenarios/base.json",
                    with_cluster({{"workers", 4}, {"nodes", 7}, {"device", {{"launch", "3 us"}}}}));
  const std::string file = folder.write("scenarios/s.json", R"({"use": "base.json"})");
  const Json cluster = load_scenario(file, {{{"/cluster/use", "clusters/c.json"}}, {}}).resolved["cluster"];
  CHECK(cluster["nodes"] == 7);
  CHECK(cluster["device"]["name"] == "slow");
  CHECK(cluster["device"]["launch"] == "3 us");
}

TEST_CASE("the key by which editors find the schema is left out") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["$schema"] = "scenario.schema.json";
  folder.write("c.json", R"({"$schema": "x", "source": "a test"})");
  scenario["cluster"]["use"] = "c.json";
  const Json resolved = load_scenario(folder.write_json("s.json", scenario)).resolved;
  CHECK(!resolved.contains("$schema"));
  CHECK(!resolved["cluster"].contains("$schema"));
  CHECK(resolved["cluster"]["source"] == "a test");
}

TEST_CASE("where files are looked for") {
  const std::vector<std::string> paths = search_path("clusters/c.json", "a/scenarios/papers/p.json");
  REQUIRE(paths.size() >= 4);
  CHECK(paths[0] == "a/scenarios/papers/clusters/c.json");  // beside the file that names it
  CHECK(paths[1] == "a/scenarios/clusters/c.json");         // in the "scenarios" above it
  CHECK(paths[2] == "clusters/c.json");                     // in the current directory
  CHECK(paths[3] == "scenarios/clusters/c.json");
  CHECK(search_path("/x/c.json", "a.json") == std::vector<std::string>{"/x/c.json"});
}

}  // namespace simsgd::test::scenarios_use

// What a resolved scenario holds: everything.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_defaults {

TEST_CASE("every default is there to be read") {
  const Json resolved = load(small_scenario()).resolved;
  CHECK(resolved["name"] == "s");  // of s.json
  CHECK(resolved["cluster"]["nodes"] == 4);
  CHECK(resolved["cluster"]["gpus_per_node"] == 1);
  CHECK(resolved["cluster"]["placement"] == "block");
  CHECK(resolved["cluster"]["nic"]["count"] == 1);
  CHECK(resolved["cluster"]["host"] == Json{{"overlap", 0}});  // costs have none: they are unknown
  CHECK(resolved["workload"]["micro_batches"] == 1);
  CHECK(resolved["workload"]["compute_factor"] == 1);
  CHECK(resolved["learner"].is_null());
  CHECK(resolved["optimizer"] ==
        Json{{"name", "sgd"},
             {"learning_rate", 0.1},
             {"momentum", 0},
             {"nesterov", false},
             {"weight_decay", 0},
             {"schedule", {{"name", "constant"}, {"warmup_steps", 0}, {"warmup_from", 0}}}});
  Json with_adamw = small_scenario();
  with_adamw["optimizer"] = {{"name", "adamw"}};
  CHECK(load(with_adamw).resolved["optimizer"] ==
        Json{{"name", "adamw"},
             {"learning_rate", 0.001},
             {"beta1", 0.9},
             {"beta2", 0.999},
             {"epsilon", 1e-8},
             {"weight_decay", 0.01},
             {"weight_decay_on", "all"},
             {"schedule", {{"name", "constant"}, {"warmup_steps", 0}, {"warmup_from", 0}}}});
  CHECK(resolved["stragglers"] == Json::array());
  CHECK(resolved["network"]["fidelity"] == "auto");
  CHECK(resolved["network"]["precision"] == "fp32");
  CHECK(resolved["network"]["slow_links"] == Json::array());
  CHECK(resolved["network"]["jitter"] == 0);
  CHECK(resolved["target"].is_null());
  CHECK(resolved["record"] == Json{{"evaluate_every", 0}, {"timeline_events", 100000}});
  CHECK(resolved["seed"] == 1);
  CHECK(resolved["expected"] == Json::array());
}

TEST_CASE("nodes are as many as the workers need; a cosine ends with the run") {
  Json scenario = small_scenario();
  scenario["cluster"]["gpus_per_node"] = 3;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", 1e9}};
  scenario["optimizer"] = {{"name", "sgd"}, {"schedule", {{"name", "cosine"}}}};
  const Json resolved = load(scenario).resolved;
  CHECK(resolved["cluster"]["nodes"] == 2);
  CHECK(resolved["optimizer"]["schedule"]["total_steps"] == 10);
}

TEST_CASE("whole numbers may be written with a point or an exponent") {
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 2e3;
  CHECK(load(scenario).resolved["stop"]["steps"].is_number_integer());
  CHECK(job_of(scenario).stop.steps == 2000);
}

TEST_CASE("loading a resolved scenario gives the same scenario") {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["stragglers"] = {{{"name", "lognormal"}, {"mean", "1 ms"}, {"sigma", 0.5}}};
  scenario["optimizer"] = {{"name", "sgd"}, {"schedule", {{"name", "cosine"}, {"warmup_steps", 5}}}};
  scenario["network"] = {{"jitter", {{"name", "exponential"}, {"mean", "1 us"}}}};
  scenario["expected"] = {{{"metric", "compute_s"}, {"value", 1}, {"tolerance", 0.1}, {"source", "a test"}}};
  const Json once = load(scenario).resolved;
  CHECK(load(once).resolved.dump() == once.dump());
}

TEST_CASE("expectations are kept where their conditions hold") {
  Json scenario = small_scenario();
  const auto expectation = [](double value, const Json& when) {
    return Json{
        {"metric", "compute_s"}, {"value", value}, {"tolerance", 0.1}, {"source", "a test"}, {"when", when}};
  };
  scenario["expected"] = {expectation(1, {{"/cluster/workers", 4}}),
                          expectation(2, {{"/cluster/workers", 8}}),
                          expectation(3, {{"/cluster/workers", 8}, {"/stop/steps", 10}})};
  Json kept = load(scenario).resolved["expected"];
  REQUIRE(kept.size() == 1);
  CHECK(kept[0]["value"] == 1);
  CHECK(!kept[0].contains("when"));
  kept = load(scenario, {{{"/cluster/workers", "8"}}, {}}).resolved["expected"];
  REQUIRE(kept.size() == 2);
  CHECK(kept[1]["value"] == 3);
}

TEST_CASE("a condition may speak of the file that was used") {
  const Folder folder;
  Json cluster = small_scenario()["cluster"];
  folder.write_json("a.json", cluster);
  folder.write_json("b.json", cluster);
  Json scenario = small_scenario();
  scenario["cluster"] = {{"use", "a.json"}};
  scenario["expected"] = {{{"metric", "compute_s"},
                           {"value", 1},
                           {"tolerance", 0.1},
                           {"source", "a test"},
                           {"when", {{"/cluster/use", "a.json"}}}}};
  const std::string file = folder.write_json("s.json", scenario);
  CHECK(load_scenario(file).resolved["expected"].size() == 1);
  CHECK(load_scenario(file, {{{"/cluster/use", "b.json"}}, {}}).resolved["expected"].empty());
}

}  // namespace simsgd::test::scenarios_defaults

// simsgd migrate: what becomes of a file's text.
#include "scenarios/language/migrate.hpp"

#include <doctest/doctest.h>

#include <set>

#include "scenarios/language/json_source.hpp"
#include "scenarios/language/renames.hpp"
#include "sim/base/errors.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_migrate {

namespace {

using Lines = std::vector<std::string>;

/// A file of a cluster, whose members are these.
std::string cluster(const std::string& members) { return "{\"nic\": {\"bandwidth\": 1}, " + members + "}"; }

std::string text_of(const std::string& text) {
  const Migrated migrated = migrate(text, "f.json");
  // What is written can be read, and has nothing left to change.
  CHECK(migrate(migrated.text, "f.json").changes.empty());
  return migrated.text;
}

std::string refusal(const std::string& text) {
  try {
    migrate(text, "f.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a key with another name is renamed where it stands, and everything else stays as it is written") {
  const std::string old = R"(// Which parts: "mini_batches"
{ "stop" : {"steps": 5.0e0},
  "algorithm": {"name": "nonblocking",   "mini_batches": 4 /* parts */},  // M = 4
  "description": "mini_batches"
}
)";
  const Migrated migrated = migrate(old, "f.json");
  CHECK(migrated.text == R"(// Which parts: "mini_batches"
{ "stop" : {"steps": 5.0e0},
  "algorithm": {"name": "nonblocking",   "micro_batches": 4 /* parts */},  // M = 4
  "description": "mini_batches"
}
)");
  CHECK(migrated.changes == Lines{"/algorithm/mini_batches: now \"micro_batches\""});
  CHECK(migrate(migrated.text, "f.json").changes.empty());
}

TEST_CASE("metrics in expected, pointers of axes and of when, and keys in the values of axes are renamed") {
  const std::string old = R"({
  "stop": {"steps": 1},
  "axes": [
    {"pointer": "/algorithm", "values": [{"name": "nonblocking", "mini_batches": 1}, {"name": "local_sgd"}]},
    {"zip": [{"pointer": "/algorithm/mini_batches", "values": [1, 2]}, {"pointer": "/seed", "values": [1, 2]}]}
  ],
  "expected": [
    {"metric": "factor_communication_not_hidden_s", "value": 1, "tolerance": 0.1, "source": "x",
     "when": {"/algorithm/mini_batches": 2}}
  ]
})";
  const Migrated migrated = migrate(old, "f.json");
  CHECK(migrated.changes ==
        Lines{"/axes/0/values/0/mini_batches: now \"micro_batches\"",
              "/axes/1/zip/0/pointer: now \"/algorithm/micro_batches\"",
              "/expected/0/metric: now \"factor_communication_overhead_s\"",
              "/expected/0/when/~1algorithm~1mini_batches: now \"/algorithm/micro_batches\""});
  CHECK(migrated.text == R"({
  "stop": {"steps": 1},
  "axes": [
    {"pointer": "/algorithm", "values": [{"name": "nonblocking", "micro_batches": 1}, {"name": "local_sgd"}]},
    {"zip": [{"pointer": "/algorithm/micro_batches", "values": [1, 2]}, {"pointer": "/seed", "values": [1, 2]}]}
  ],
  "expected": [
    {"metric": "factor_communication_overhead_s", "value": 1, "tolerance": 0.1, "source": "x",
     "when": {"/algorithm/micro_batches": 2}}
  ]
})");
}

TEST_CASE("keys move into objects that are there, and these are made where they are not") {
  CHECK(text_of(cluster(
            R"("host": {"launch": 0}, "sparsification": {"copy": 0, "merge": "70 ns", "add": 4e-9})")) ==
        cluster(R"("host": {"launch": 0, "copy": 0, "merge": "70 ns", "scatter_add": 4e-9})"));
  CHECK(text_of(cluster(R"("sparsification": {"accumulate": 1, "copy": 0}, "name": "c")")) ==
        cluster(R"("device": {"accumulate": 1}, "host": {"copy": 0}, "name": "c")"));
  CHECK(text_of(cluster(
            R"("device": {"use": "d.json"}, "host": {}, "sparsification": {"accumulate": 1, "copy": 0})")) ==
        cluster(R"("device": {"use": "d.json", "accumulate": 1}, "host": {"copy": 0})"));
  CHECK(text_of(cluster(R"("name": "c", "sparsification": {})")) == cluster(R"("name": "c")"));
  // A key that is none stays, for the loader to refuse.
  CHECK(text_of(cluster(R"("sparsification": {"copy": 0, "x": 1, "merge": 2})")) ==
        cluster(R"("sparsification": {"x": 1}, "host": {"copy": 0, "merge": 2})"));
  CHECK(text_of(R"({"name": "D", "peak_flops": 1, "kfac": {"gemm_efficiency": 0.5, "inverse": []}})") ==
        R"({"name": "D", "peak_flops": 1, "gemm": {"efficiency": 0.5}, "inverse": {"times": []}})");
}

TEST_CASE("moved keys have lines of their own where others have, and comments stay") {
  CHECK(text_of(R"({
  "nic": {"bandwidth": 1},
  "host": {
    "launch": 0  // none
  },
  // of Top-k
  "sparsification": {
    "copy": 0,
    // measured in Python
    "merge": "70 ns"
  },
  "name": "c"
})") == R"({
  "nic": {"bandwidth": 1},
  "host": {
    "launch": 0,
    "copy": 0,
    "merge": "70 ns"  // none
  },
  // of Top-k
  // measured in Python
  "name": "c"
})");
  CHECK(text_of(R"({
  "cluster": {
    "workers": 4,
    "sparsification": {"copy": 0}  // assumed
  },
  "stop": {"steps": 1}
})") == R"({
  "cluster": {
    "workers": 4,
    "host": {"copy": 0}  // assumed
  },
  "stop": {"steps": 1}
})");
  CHECK(text_of(R"({
  "nic": {"bandwidth": 1},
  "host": {"launch": 0},
  "sparsification": {"copy": 0}
})") == R"({
  "nic": {"bandwidth": 1},
  "host": {"launch": 0, "copy": 0}
})");
}

TEST_CASE("the dimensions of a layer's factors become the shape of its first tensor") {
  const auto layers = [](const std::string& text) { return "{\"batch\": 1, \"layers\": [" + text + "]}"; };
  const Migrated migrated = migrate(
      layers(R"({"type": "conv", "tensors": [432], "a_dim": 27, "g_dim": 16, "positions": 4})"), "f.json");
  CHECK(migrated.text == layers(R"({"type": "conv", "tensors": [[16, 27]], "positions": 4})"));
  CHECK(migrated.changes == Lines{"/layers/0/tensors/0: now [16, 27], without \"a_dim\" and \"g_dim\""});
  // With a bias A has one more row.
  CHECK(text_of(layers(R"({"tensors": [640, 10], "type": "fc", "a_dim": 65, "g_dim": 10})")) ==
        layers(R"({"tensors": [[10, 64], 10], "type": "fc"})"));
  CHECK(text_of(layers(R"({"tensors": [64, 64], "type": "bn", "a_dim": 0, "g_dim": 0})")) ==
        layers(R"({"tensors": [64, 64], "type": "bn"})"));
  CHECK(
      text_of(
          R"({"stop": {"steps": 1}, "workload": {"layers": [{"tensors": [6], "a_dim": 2, "g_dim": 3}]}})") ==
      R"({"stop": {"steps": 1}, "workload": {"layers": [{"tensors": [[3, 2]]}]}})");
}

TEST_CASE("what cannot be migrated is refused, all at once") {
  CHECK(refusal(R"({"stop": {"steps": 1}, "algorithm": {"mini_batches": 2, "micro_batches": 4}})") ==
        "f.json:/algorithm/mini_batches: is called \"micro_batches\" now, which is there, too. Found: 2. "
        "Keep one "
        "of the two.");
  CHECK(refusal(cluster(R"("host": {"copy": 1}, "sparsification": {"copy": 0})")) ==
        "f.json:/sparsification/copy: is called \"host/copy\" now, which is there, too. Found: 0. Keep one "
        "of the "
        "two.");
  CHECK(refusal(cluster(R"("host": 5, "sparsification": {"copy": 0})")) ==
        "f.json:/sparsification/copy: cannot be moved: \"host\" is no object. Found: 0. Move it by hand.");
  CHECK(refusal(
            R"({"batch": 1, "layers": [{"tensors": [640, 10], "a_dim": 60, "g_dim": 10}, {"g_dim": 4}]})") ==
        "f.json:/layers/0: has 640 parameters in its first tensor, which is not \"g_dim\" = 10 times "
        "\"a_dim\" = "
        "60. Found: {\"a_dim\":60,\"g_dim\":10,\"tensors\":[640,10]}. Give the tensor as a shape, [outputs, "
        "inputs], "
        "by hand.\n"
        "f.json:/layers/1: has \"a_dim\" and \"g_dim\", and no tensor that could have their shape. Found: "
        "{\"g_dim\":4}. Give its tensors as shapes, [outputs, inputs], by hand.");
  CHECK(refusal(R"({"stop": {"steps": 1}, "axes": [{"pointer": "/workload/layers/0/a_dim", "values": [1]},)"
                R"({"pointer": "/cluster/sparsification", "values": [{"copy": 1}]}]})") ==
        "f.json:/axes/0/pointer: names what is part of the shape in \"tensors\" now. Found: "
        "\"/workload/layers/0/a_dim\". Write it by hand.\n"
        "f.json:/axes/1/values/0: cannot be moved: its keys are in other objects now. Found: {\"copy\":1}. "
        "Write "
        "them there by hand.");
  CHECK(
      refusal("[1]") ==
      "f.json: is not a scenario, study, cluster, device or workload. Found: [1]. Name a file that holds an "
      "object.");
  CHECK(refusal("{\"a\": }").starts_with("f.json: is not valid JSON, line 1, column 7: "));
}

TEST_CASE("the loader refuses an old name with the new one") {
  const auto refused = [](const Json& scenario, const Overrides& overrides = {}) {
    const Folder folder;
    folder.write_json("s.json", scenario);
    try {
      load_study(folder.path("s.json"), overrides);
    } catch (const ConfigError& error) {
      return folder.without_folder(error.what());
    }
    return std::string();
  };
  Json scenario = small_scenario();
  scenario["algorithm"] = {{"name", "nonblocking"}, {"mini_batches", 4}};
  CHECK(refused(scenario) ==
        "s.json:/algorithm/mini_batches: is called \"micro_batches\" now. Found: 4. Run: simsgd migrate "
        "s.json.");
  scenario["algorithm"].erase("mini_batches");
  CHECK(refused(scenario, {.set = {{"/algorithm/mini_batches", "3"}}, .seed = {}}) ==
        "--set:/algorithm/mini_batches: is called \"micro_batches\" now. Found: 3. Set "
        "/algorithm/micro_batches.");
  scenario["axes"] = {{{"pointer", "/algorithm/mini_batches"}, {"values", {1, 2}}}};
  CHECK(refused(scenario) ==
        "s.json:/axes/0/pointer: is called \"/algorithm/micro_batches\" now. Found: "
        "\"/algorithm/mini_batches\". Run: simsgd migrate s.json.");
  scenario["axes"] = {
      {{"pointer", "/algorithm"}, {"values", {{{"name", "nonblocking"}, {"mini_batches", 4}}}}}};
  CHECK(
      refused(scenario) ==
      "s.json:/axes/0/values/0/mini_batches: is called \"micro_batches\" now. Found: 4. Run: simsgd migrate "
      "s.json.");
  scenario.erase("axes");
  scenario["cluster"]["device"]["kfac"] = {{"gemm_efficiency", 0.5}};
  scenario["expected"] = {{{"metric", "model_communication_not_hidden_s"},
                           {"value", 1},
                           {"tolerance", 1},
                           {"source", "a test"},
                           {"when", {{"/algorithm/mini_batches", 4}}}}};
  CHECK(
      refused(scenario) ==
      "s.json:/cluster/device/kfac: is written elsewhere now: \"gemm_efficiency\" is "
      "/cluster/device/gemm/efficiency, \"factor_overhead\" is /cluster/device/gemm/gather, \"inverse\" is "
      "/cluster/device/inverse/times, \"inverse_overhead\" is /cluster/device/inverse/overhead. Found: "
      "{\"gemm_efficiency\":0.5}. Run: simsgd migrate s.json.\n"
      "s.json:/expected/0/metric: is called \"model_communication_overhead_s\" now. Found: "
      "\"model_communication_not_hidden_s\". Run: simsgd migrate s.json.\n"
      "s.json:/expected/0/when/~1algorithm~1mini_batches: is called \"/algorithm/micro_batches\" now. Found: "
      "\"/algorithm/mini_batches\". Run: simsgd migrate s.json.");
}

TEST_CASE("a metric's new name is a metric's, and the old one none's") {
  std::set<std::string> names;
  for (const Metric& metric : metrics()) names.insert(metric.name);
  for (const ValueRename& each : value_renames()) {
    if (each.pointer != "/expected/*/metric") continue;
    CAPTURE(each.old_value);
    CHECK(names.contains(each.new_value));
    CHECK(!names.contains(each.old_value));
  }
}

TEST_CASE("the committed files have nothing to migrate") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kScenarios)) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = entry.path().string();
    CAPTURE(file);
    const Migrated migrated = migrate(read_file(file), file);
    CHECK(migrated.changes == Lines{});
  }
}

}  // namespace simsgd::test::scenarios_migrate

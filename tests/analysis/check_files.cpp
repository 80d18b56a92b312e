// `check` is the run's own examination: what it says of a file is what a run says.
#include "analysis/runs/sweep_points.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_check_files {

namespace {

std::string checked(const Folder& folder, const std::string& name, const Overrides& overrides = {}) {
  try {
    return check_file(folder.path(name), overrides, {});
  } catch (const ConfigError& error) {
    return folder.without_folder(error.what());
  }
}

/// What check says of the small scenario with `value` at `pointer`; what a run says of it must be the same.
std::string refusal(const std::string& pointer, const Json& value, Json scenario = small_scenario()) {
  const Folder folder;
  scenario[Json::json_pointer(pointer)] = value;
  folder.write_json("s.json", scenario);
  const std::string said = checked(folder, "s.json");
  CHECK(said == folder.errors("s.json"));
  return said;
}

Json with_learner(Json scenario, const Json& model) {
  scenario["learner"] = small_learner();
  scenario["learner"]["model"] = model;
  return scenario;
}

}  // namespace

TEST_CASE("what a run refuses, check refuses, with the same text") {
  Json six = small_scenario();
  six["cluster"]["workers"] = 6;
  CHECK(refusal("/algorithm", {{"name", "wagma"}, {"group_size", 3}}, six).starts_with("s.json:/algorithm"));
  CHECK(refusal("/stragglers", {{{"name", "constant"}, {"factor", 2}, {"workers", {99}}}})
            .starts_with("s.json:/stragglers/0/workers"));
  Json large = small_scenario();
  large["workload"]["layers"][0]["activations"] = 1e6;
  CHECK(refusal("/workload/batch", 100000, large)
            .starts_with("s.json:/workload/batch: needs 400 GB on each GPU"));
  CHECK(refusal("/stragglers", {{{"name", "trace"}, {"file", "none.csv"}}})
            .starts_with("s.json:/stragglers/0/file"));
  CHECK(refusal("/algorithm", {{"name", "d_psgd"}, {"graph", {{"name", "file"}, {"path", "none.dot"}}}})
            .starts_with("s.json:/algorithm/graph/path"));
  CHECK(refusal("/seed", 1, with_learner(small_scenario(), {{"name", "cnn"}}))
            .starts_with("s.json:/learner/model"));
  Json sixteen = small_scenario();
  sixteen["cluster"]["workers"] = 16;
  sixteen["cluster"]["topology"] = {{"name", "fat_tree"}, {"oversubscription", 3}};
  CHECK(refusal("/cluster/topology/leaf_nodes", 2, sixteen).starts_with("s.json:/cluster/topology"));
}

TEST_CASE("every point of a study is examined, and an error that several have is told once") {
  const Folder folder;
  Json study = small_scenario();
  study["algorithm"] = {{"name", "wagma"}, {"group_size", 2}};
  study["axes"] = {{{"pointer", "/cluster/workers"}, {"values", {4, 6}}},
                   {{"pointer", "/algorithm/group_size"}, {"values", {2, 4}}},
                   {{"pointer", "/stop/steps"}, {"values", {1, 2}}}};
  folder.write_json("s.json", study);
  const std::string said = checked(folder, "s.json");
  CHECK(
      said ==
      "s.json:/algorithm/name: needs a power of two of workers, and this run has 6. Found: \"wagma\". Use 4 or 8 workers.");
  study["axes"][0]["values"] = {4};
  folder.write_json("s.json", study);
  CHECK(checked(folder, "s.json") == "a study of 4 points");
}

TEST_CASE("devices, clusters and workloads are examined by their own schemas") {
  CHECK(check_file(kScenarios + "devices/v100.json", {}, {}) == "a device");
  CHECK(check_file(kScenarios + "clusters/infiniband-100g.json", {}, {}) == "a cluster");
  CHECK(check_file(kScenarios + "workloads/resnet50.json", {}, {}) == "a workload");
  CHECK(check_file(kScenarios + "quickstart.json", {}, {}) == "a study of 2 points");
  const Folder folder;
  folder.write_json("d.json",
                    {{"name", "D"}, {"peak_flops", "1 TFLOPS"}, {"memroy", "1 GB"}, {"launch", -1}});
  const std::string said = checked(folder, "d.json");
  CHECK(said.find("d.json:/memroy: is an unknown key. Found: \"1 GB\". Did you mean \"memory\"?") !=
        std::string::npos);
  CHECK(said.find("d.json:/launch: is out of range. Found: -1.") != std::string::npos);
  folder.write_json("c.json", {{"gpus_per_node", 2},
                               {"nic", {{"bandwidth", 1e9}}},
                               {"device", {{"name", "D"}}},
                               {"topology", {{"name", "star"}}}});
  CHECK(
      checked(folder, "c.json") ==
      "c.json: has several GPUs per node and no \"gpu_link\". Add \"gpu_link\": NVLink or PCIe inside a node, such as {\"bandwidth\": \"12 GB/s\"}.");
  folder.write_json("w.json", {{"batch", 8}, {"layers", Json::array()}});
  CHECK(checked(folder, "w.json") == "w.json:/layers: is too short. Found: []. Give at least 1 element.");
  CHECK(checked(folder, "w.json", {{{"/layers", R"([{"type": "fc", "tensors": [10]}])"}}, {}}) ==
        "a workload");
}

TEST_CASE("what would never end, or does not fit, is refused") {
  CHECK(
      refusal("/stop/steps", 5000000000) ==
      "s.json:/stop/steps: asks for 5e+09 steps of 4 workers. Found: 5000000000. Steps times workers can be at most 1e+10.");
  Json timeless = small_scenario();
  timeless["workload"]["layers"][0]["forward"] = 0;
  timeless["stop"] = {{"time", 1}};
  CHECK(refusal("/seed", 1, timeless) ==
        "s.json:/stop/time: may never come: a step computes for no time. Found: 1. Add \"steps\".");
  CHECK(
      refusal("/workload/layers/0/tensors", Json::array()) ==
      "s.json:/workload/layers: have no parameters: there is nothing to train. Found: [{\"activations\":0,\"forward_flop\":2000,\"positions\":1,\"tensors\":[],\"type\":\"fc\"}]. Give the \"tensors\" of at least one layer.");
  CHECK(refusal("/stragglers", {{{"name", "constant"}, {"delay", 1e308}}}) ==
        "s.json:/stragglers/0/delay: is out of range. Found: 1e+308. Write at most 1000000000000.");
  CHECK(refusal("/cluster/device/price_usd_per_h", 2e12).find("is out of range") != std::string::npos);
  CHECK(refusal("/cluster/nic/bandwidth", 1e-300).find("has a link") != std::string::npos);
  Json much = with_learner(small_scenario(), {{"name", "softmax_regression"}});
  much["learner"]["data"] = {{"name", "gaussian_mixture"}, {"samples", 10000000}, {"features", 10000000}};
  CHECK(
      refusal("/seed", 1, much) ==
      "s.json:/learner/data: has 1.0001e+14 numbers, samples times features. Use at most 2.14748e+09 in all.");
  const Folder folder;
  Json seeds = small_scenario();
  seeds["seeds"] = 1000000000;
  folder.write_json("s.json", seeds);
  CHECK(checked(folder, "s.json") ==
        "s.json:/seeds: is out of range. Found: 1000000000. Write a whole number from 1 to 100000.");
}

}  // namespace simsgd::test::analysis_check_files

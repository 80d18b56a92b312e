// What K-FAC refuses: the full text of every message.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_kfac {

namespace {

// Two layers, one of which has factors.
Json kfac_scenario() {
  Json scenario = small_scenario();
  scenario["workload"]["layers"][0]["tensors"] = {{10, 100}, 10};
  scenario["algorithm"] = {{"name", "spd_kfac"}};
  return scenario;
}

std::string with(const std::string& pointer, const Json& value) {
  Json scenario = kfac_scenario();
  scenario[Json::json_pointer(pointer)] = value;
  return errors_of(scenario);
}

}  // namespace

TEST_CASE("all four K-FAC systems take the scenario as it is") {
  for (const char* name : {"d_kfac", "mpd_kfac", "spd_kfac"}) CHECK(with("/algorithm/name", name) == "");
  Json alone = kfac_scenario();
  alone["cluster"]["workers"] = 1;
  alone["algorithm"]["name"] = "kfac";
  CHECK(errors_of(alone) == "");
}

TEST_CASE("damping must be above 0") {
  CHECK(with("/algorithm/damping", 0) ==
        "s.json:/algorithm/damping: is out of range. Found: 0. Write a number above 0.");
  CHECK(with("/algorithm/damping", -1) ==
        "s.json:/algorithm/damping: is out of range. Found: -1. Write a number above 0.");
}

TEST_CASE("an inverse interval is a multiple of the factor interval") {
  Json scenario = kfac_scenario();
  scenario["algorithm"]["factor_interval"] = 4;
  CHECK(
      errors_of(scenario) ==
      "s.json:/algorithm/inverse_interval: is not a multiple of the factor interval, 4: some inversions would repeat the one before, or use factors that the next step replaces. Found: 1. Use 4 or another multiple of 4.");
  scenario["algorithm"]["inverse_interval"] = 6;
  CHECK(
      errors_of(scenario) ==
      "s.json:/algorithm/inverse_interval: is not a multiple of the factor interval, 4: some inversions would repeat the one before, or use factors that the next step replaces. Found: 6. Use 8 or another multiple of 4.");
  scenario["algorithm"]["inverse_interval"] = 8;
  CHECK(errors_of(scenario) == "");
  scenario["algorithm"]["factor_interval"] = 0;
  CHECK(errors_of(scenario) ==
        "s.json:/algorithm/factor_interval: is out of range. Found: 0. Write a whole number of at least 1.");
}

TEST_CASE("the weight of the old factor") {
  CHECK(
      with("/algorithm/ema", 1) ==
      "s.json:/algorithm/ema: is no weight of the old factor. Found: 1. Use \"released\", or a number from 0 up to (not including) 1 such as 0.95.");
  CHECK(
      with("/algorithm/ema", "paper") ==
      "s.json:/algorithm/ema: is no weight of the old factor. Found: \"paper\". Use \"released\", or a number from 0 up to (not including) 1 such as 0.95.");
  CHECK(with("/algorithm/ema", "released") == "");
  CHECK(with("/algorithm/ema", 0) == "");
}

TEST_CASE("a workload without shapes") {
  Json scenario = kfac_scenario();
  scenario["workload"]["layers"][0]["tensors"] = {1000, 10};
  CHECK(
      errors_of(scenario) ==
      "s.json:/algorithm/name: has nothing to work on: no layer of the workload \"workload\" has factors. Found: \"spd_kfac\". Write the tensors of its linear and convolutional layers as [rows, columns], or use allreduce_sgd.");
}

TEST_CASE("a learner without linear or convolutional layers") {
  Json scenario = kfac_scenario();
  scenario["learner"] = {{"model", {{"name", "quadratic"}}}, {"data", {{"name", "quadratic"}}}, {"batch", 4}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/algorithm/name: has nothing to work on: the learner's model has no linear or convolutional layer. Found: \"spd_kfac\". Use a model that has, such as mlp, or allreduce_sgd.");
}

TEST_CASE("a device without a peak rate") {
  Json scenario = kfac_scenario();
  scenario["cluster"]["device"].erase("peak_flops");
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 8}, {"forward_backward", "10 ms"}, {"source", "measured"}}};
  CHECK(
      errors_of(scenario) ==
      "s.json:/algorithm/name: cannot be timed: the device \"D\" has no peak_flops. Found: \"spd_kfac\". Give /cluster/device/peak_flops, from which factors and inverses are timed.");
}

TEST_CASE("K-FAC on one worker, with several") {
  CHECK(
      with("/algorithm/name", "kfac") ==
      "s.json:/algorithm/name: trains on one worker, and there are 4. Found: \"kfac\". Use d_kfac, mpd_kfac or spd_kfac, or 1 worker.");
}

TEST_CASE("names of what can be switched") {
  CHECK(
      with("/algorithm/pipelining", "layerwise") ==
      "s.json:/algorithm/pipelining: is not valid here. Found: \"layerwise\". Did you mean \"layer_wise\"? Valid are none, layer_wise, threshold or dynamic.");
  CHECK(
      with("/algorithm/placement", "balance") ==
      "s.json:/algorithm/placement: is not valid here. Found: \"balance\". Did you mean \"balanced\"? Valid are everywhere, round_robin or balanced.");
  CHECK(with("/algorithm/placement_rule", "size") ==
        "s.json:/algorithm/placement_rule: is not valid here. Found: \"size\". Valid are cost or threshold.");
  CHECK(
      with("/algorithm/damping_rule", "pie") ==
      "s.json:/algorithm/damping_rule: is not valid here. Found: \"pie\". Did you mean \"pi\"? Valid are plain or pi.");
}

}  // namespace simsgd::test::scenarios_messages_kfac

// Tables of kernels in a device's file: what methods take with them, what a result says, what is refused.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analysis/runner.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/in_child.hpp"

namespace simsgd::test::scenarios_device_tables {

using doctest::Approx;

namespace {

/// 2^20 parameters, one worker, choices measured at two densities.
Json sparse(const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["cluster"]["workers"] = 1;
  scenario["cluster"]["device"]["selection_times"] = {
      {{"entries", 1048576}, {"density", 0.001}, {"time", "1 ms"}},
      {{"entries", 1048576}, {"density", 0.1}, {"time", "4 ms"}}};
  scenario["workload"]["layers"][0]["tensors"] = {1048576};
  scenario["algorithm"] = algorithm;
  scenario["algorithm"]["name"] = "topk_sgd";
  scenario["stop"]["steps"] = 4;
  return scenario;
}

double selection_s(const Json& scenario) {
  return in_child([&] {
    const RunOutcome outcome = run_scenario(load(scenario), {});
    return std::vector<double>{outcome.document["metrics"]["selection_s"].get<double>()};
  })[0];
}

std::vector<std::string> extrapolated(const Json& scenario) {
  std::vector<std::string> texts;
  for (const Note& note : job_of(scenario).notes)
    if (note.about == "extrapolated-kernel") texts.push_back(note.text);
  return texts;
}

}  // namespace

TEST_CASE(
    "a selection takes what the table says of its density, in each phase of a warm-up, at the node's speed") {
  // k = floor(d n): 1048 of 1048576 is 0.99945e-3, a little sparser than the first entry, which it takes.
  CHECK(selection_s(sparse({{"k", 104858}})) == Approx(4e-3).epsilon(1e-4));
  CHECK(selection_s(sparse({{"density", 0.01}})) == Approx(2e-3).epsilon(1e-4));  // half way
  CHECK(selection_s(sparse({{"density", 0.001}})) == Approx(1e-3).epsilon(1e-12));
  const Json warm = {{"density", 0.01}, {"warmup_steps", 2}, {"warmup_densities", {0.1}}};
  CHECK(selection_s(sparse(warm)) == Approx((4e-3 + 2e-3) / 2).epsilon(1e-4));
  Json slow = sparse({{"density", 0.01}});
  slow["cluster"]["node_speed"] = {0.25};
  CHECK(selection_s(slow) == Approx(4 * 2e-3).epsilon(1e-4));
}

TEST_CASE("a kernel beyond its table is told of once") {
  CHECK(extrapolated(sparse({{"density", 0.01}})).empty());
  CHECK(extrapolated(sparse({{"density", 0.001}})).empty());
  CHECK(extrapolated(sparse({{"density", 0.00099}})).size() == 1);
  CHECK(extrapolated(sparse({{"density", 0.5}, {"warmup_steps", 1}})) ==
        std::vector<std::string>{
            "choices of the top k of sizes beyond those in \"selection_times\" of device D "
            "are scaled from its nearest edge"});
  Json kfac = small_scenario();
  kfac["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {{100, 10}, 100}}, {"forward_flop", 2000}},
                                {{"type", "fc"}, {"tensors", {{10, 100}, 10}}, {"forward_flop", 2000}}};
  kfac["algorithm"] = {{"name", "spd_kfac"}};
  CHECK(extrapolated(kfac).empty());
  kfac["cluster"]["device"]["gemm"]["times"] = {{{"m", 64}, {"n", 64}, {"k", 64}, {"time", "5 us"}}};
  CHECK(
      extrapolated(kfac) ==
      std::vector<std::string>{"products of matrices of sizes beyond those in \"gemm.times\" of device D are "
                               "scaled from its nearest edge"});
}

TEST_CASE("tables that cannot be read off are refused where they are written") {
  const auto refused = [](const Json& gemm) {
    return errors_with("/cluster/device/gemm", {{"times", gemm}});
  };
  CHECK(refused({{{"m", 8}, {"n", 8}, {"k", 8}, {"time", 1}}, {{"m", 8}, {"n", 8}, {"k", 4}, {"time", 1}}}) ==
        "s.json:/cluster/device/gemm/times/1: takes fewer FLOPs than the one before it. Found: "
        "{\"k\":4,\"m\":8,\"n\":8,\"time\":1}. List the measurements by ascending 2 m n k.");
  CHECK(refused({{{"m", 8}, {"n", 8}, {"k", 8}, {"time", 0}}})
            .starts_with("s.json:/cluster/device/gemm/times/0/time"));
  CHECK(refused({{{"m", 0}, {"n", 8}, {"k", 8}, {"time", 1}}}) ==
        "s.json:/cluster/device/gemm/times/0/m: is out of range. Found: 0. Write a whole number of at least "
        "1.");
  CHECK(errors_with("/cluster/device/selection_times", {{{"entries", 1}, {"time", 1}}}) ==
        "s.json:/cluster/device/selection_times/0/entries: is out of range. Found: 1. Write a whole number "
        "of at "
        "least 2.");
  CHECK(errors_with("/cluster/device/selection_times",
                    {{{"entries", 4}, {"time", 1}}, {{"entries", 4}, {"time", 2}}}) ==
        "s.json:/cluster/device/selection_times/1: does not follow the one before it. Found: "
        "{\"entries\":4,\"time\":2}. List the measurements by ascending density, those of one density by "
        "ascending "
        "entries.");
}

TEST_CASE("a file with tables, hashed routes and all resolves to itself") {
  Json scenario = sparse({{"density", 0.01}});
  scenario["cluster"]["device"]["gemm"] = {{"memory_bound", true},
                                           {"times", {{{"m", 8}, {"n", 8}, {"k", 8}, {"time", 1}}}}};
  scenario["cluster"]["topology"] = {{"name", "fat_tree"}, {"routing", "hashed"}};
  const Scenario loaded = load(scenario);
  const Json whole = completed(loaded, make_job(loaded));
  CHECK(whole["cluster"]["topology"]["seed"] == 1);
  CHECK(load(whole).resolved == whole);
}

}  // namespace simsgd::test::scenarios_device_tables

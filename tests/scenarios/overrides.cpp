// --set and --seed.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_overrides {

namespace {

Overrides set(std::vector<std::pair<std::string, std::string>> all) { return {std::move(all), {}}; }

std::string errors_of(const Overrides& overrides) {
  const Folder folder;
  folder.write_json("s.json", small_scenario());
  return folder.errors("s.json", overrides);
}

}  // namespace

TEST_CASE("a value is JSON where it parses, else text") {
  const Json resolved = load(small_scenario(), set({{"/cluster/workers", "6"},
                                                    {"/cluster/nic/bandwidth", "2 GB/s"},
                                                    {"/name", "\"7\""},
                                                    {"/cluster/node_speed", "[1,1,1,1,1,2]"}}))
                            .resolved;
  CHECK(resolved["cluster"]["workers"] == 6);
  CHECK(resolved["cluster"]["nodes"] == 6);
  CHECK(resolved["cluster"]["nic"]["bandwidth"] == "2 GB/s");
  CHECK(resolved["name"] == "7");
  CHECK(resolved["cluster"]["node_speed"].size() == 6);
}

TEST_CASE("missing members are made, elements are replaced and appended, later ones win") {
  const Json resolved =
      load(small_scenario(), set({{"/optimizer/name", "sgd"},
                                  {"/optimizer/momentum", "0.5"},
                                  {"/optimizer/momentum", "0.9"},
                                  {"/workload/layers/0/tensors/1", "20"},
                                  {"/stragglers/-", R"({"name": "exponential", "mean": "1 ms"})"},
                                  {"/stragglers/0/mean", "2 ms"}}))
          .resolved;
  CHECK(resolved["optimizer"]["momentum"] == 0.9);
  CHECK(resolved["workload"]["layers"][0]["tensors"] == Json{1000, 20});
  CHECK(resolved["stragglers"][0]["mean"] == "2 ms");
}

TEST_CASE("a `use` is set before it is resolved, and a value may hold one") {
  const Folder folder;
  folder.write("d.json", R"({"name": "from file", "peak_flops": 1e12})");
  folder.write_json("s.json", small_scenario());
  const auto device = [&folder](const Overrides& overrides) {
    return load_scenario(folder.path("s.json"), overrides).resolved["cluster"]["device"]["name"];
  };
  CHECK(device(set({{"/cluster/device/use", "d.json"}})) == "from file");
  CHECK(device(set({{"/cluster/device", R"({"use": "d.json"})"}})) == "from file");
  CHECK(device(set({{"/cluster/device", R"({"use": "d.json", "name": "mine"})"}})) == "mine");
}

TEST_CASE("--seed sets the seed") {
  CHECK(load(small_scenario(), {{}, 42}).resolved["seed"] == 42);
  CHECK(job_of(small_scenario(), {{}, 42}).seed == 42);
}

TEST_CASE("errors in a value from the command line say so") {
  CHECK(errors_of(set({{"/cluster/workers", "0"}})) ==
        "--set:/cluster/workers: is out of range. Found: 0. Write a whole number of at least 1.");
  CHECK(errors_of(set({{"/cluster/device/use", "none.json"}}))
            .starts_with(
                "--set:/cluster/device/use: names a file that does not exist. Found: \"none.json\". "));
  CHECK(
      errors_of(set({{"/clutser/workers", "4"}}))
          .starts_with(
              "--set:/clutser: is an unknown key. Found: {\"workers\":4}. Did you mean \"cluster\"? Valid keys here: "));
}

TEST_CASE("a pointer that leads nowhere") {
  CHECK(
      errors_of(set({{"/workload/layers/5/name", "x"}})) ==
      "--set:/workload/layers/5/name: names element \"5\" of a list of 1. Found: \"x\". Give a pointer into the scenario.");
  CHECK(
      errors_of(set({{"/workload/layers/0/type/x", "1"}})) ==
      "--set:/workload/layers/0/type/x: names the member \"x\" of something that is neither an object nor a list. Found: 1. Give a pointer into the scenario.");
}

TEST_CASE("--set takes a pointer and a value") {
  CHECK(parse_set("/cluster/workers=8") == std::pair<std::string, std::string>{"/cluster/workers", "8"});
  CHECK(parse_set("/name=a=b") == std::pair<std::string, std::string>{"/name", "a=b"});
  for (const char* wrong : {"cluster/workers=8", "/cluster/workers", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(parse_set(wrong), ("--set: is not of the form /pointer=value. Found: \"" +
                                         std::string(wrong) + "\". Write for example /cluster/workers=8.")
                                            .c_str());
  }
}

}  // namespace simsgd::test::scenarios_overrides

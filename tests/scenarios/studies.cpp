// Studies: points, labels, and what each point is.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/axis_values.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_studies {

namespace {

Study study_of(const Folder& folder, const std::vector<Json>& axes, const Json& seeds = nullptr,
               const Overrides& overrides = {}) {
  Json scenario = small_scenario();
  if (!axes.empty()) scenario["axes"] = axes;
  if (!seeds.is_null()) scenario["seeds"] = seeds;
  return load_study(folder.write_json("s.json", scenario), overrides);
}

}  // namespace

TEST_CASE("a plain scenario is a study of one point") {
  const Folder folder;
  const Study study = study_of(folder, {});
  REQUIRE(study.points.size() == 1);
  CHECK(study.points[0].label == "");
  CHECK(study.name == "s");
  CHECK(load_point(study, study.points[0]).resolved == load_scenario(folder.path("s.json")).resolved);
}

TEST_CASE("axes make a grid, the last one fastest, seeds fastest of all") {
  const Folder folder;
  const Study study =
      study_of(folder, {axis("/cluster/workers", {2, 3}), axis("/stop/steps", {5, 6})}, {7, 9});
  CHECK(labels(study) ==
        std::vector<std::string>{
            "cluster/workers=2, stop/steps=5, seed=7", "cluster/workers=2, stop/steps=5, seed=9",
            "cluster/workers=2, stop/steps=6, seed=7", "cluster/workers=2, stop/steps=6, seed=9",
            "cluster/workers=3, stop/steps=5, seed=7", "cluster/workers=3, stop/steps=5, seed=9",
            "cluster/workers=3, stop/steps=6, seed=7", "cluster/workers=3, stop/steps=6, seed=9"});
  CHECK(study.axes == std::vector<std::string>{"/cluster/workers", "/stop/steps", "/seed"});
  const Json last = load_point(study, study.points.back()).resolved;
  CHECK(last["cluster"]["workers"] == 3);
  CHECK(last["cluster"]["nodes"] == 3);
  CHECK(last["stop"]["steps"] == 6);
  CHECK(last["seed"] == 9);
  CHECK(!last.contains("axes"));
  CHECK(!last.contains("seeds"));
}

TEST_CASE("a number of seeds counts from 1") {
  const Folder folder;
  CHECK(labels(study_of(folder, {}, 3)) == std::vector<std::string>{"seed=1", "seed=2", "seed=3"});
}

TEST_CASE("zipped axes vary together") {
  const Folder folder;
  const Study study =
      study_of(folder, {{{"zip", {axis("/cluster/workers", {2, 4}), axis("/workload/batch", {16, 8})}}},
                        axis("/seed", {1, 2})});
  CHECK(labels(study) == std::vector<std::string>{"cluster/workers=2, workload/batch=16, seed=1",
                                                  "cluster/workers=2, workload/batch=16, seed=2",
                                                  "cluster/workers=4, workload/batch=8, seed=1",
                                                  "cluster/workers=4, workload/batch=8, seed=2"});
}

TEST_CASE("an axis may choose files, whole objects and plug-ins") {
  const Folder folder;
  folder.write("devices/a.json", R"({"name": "A", "peak_flops": 1e12})");
  folder.write("devices/b.json", R"({"name": "B", "peak_flops": 2e12})");
  const Study study = study_of(
      folder, {axis("/cluster/device/use", {"devices/a.json", "devices/b.json"}),
               axis("/algorithm", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"period", 4}}})});
  CHECK(labels(study) == std::vector<std::string>{"cluster/device=a, algorithm=allreduce_sgd",
                                                  "cluster/device=a, algorithm=local_sgd",
                                                  "cluster/device=b, algorithm=allreduce_sgd",
                                                  "cluster/device=b, algorithm=local_sgd"});
  const Json last = load_point(study, study.points[3]).resolved;
  CHECK(last["cluster"]["device"]["name"] == "B");
  CHECK(last["algorithm"]["period"] == 4);
  const Folder other;
  other.write("devices/a.json", R"({"name": "A", "peak_flops": 1e12})");
  const Study whole = study_of(
      other, {axis("/cluster/device", Json::array({{{"use", "devices/a.json"}, {"memory", "2 GB"}}}))});
  CHECK(labels(whole) == std::vector<std::string>{"cluster/device=a"});
  CHECK(load_point(whole, whole.points[0]).resolved["cluster"]["device"]["memory"] == "2 GB");
}

TEST_CASE("objects of one name are told apart by the keys in which they differ") {
  const Folder folder;
  const Json every = {{"name", "local_sgd"}, {"period", 1}}, fourth = {{"name", "local_sgd"}, {"period", 4}};
  CHECK(labels(study_of(folder, {axis("/algorithm", {every, fourth})})) ==
        std::vector<std::string>{"algorithm=local_sgd (period 1)", "algorithm=local_sgd (period 4)"});
}

TEST_CASE("the command line changes every point, and may change the axes") {
  const Folder folder;
  const Study study = study_of(folder, {axis("/cluster/workers", {2, 3})}, nullptr,
                               {{{"/stop/steps", "99"}, {"/axes/0/values", "[5]"}}, {}});
  CHECK(labels(study) == std::vector<std::string>{"cluster/workers=5"});
  CHECK(load_point(study, study.points[0]).resolved["stop"]["steps"] == 99);
}

TEST_CASE("an exclude without axes is refused by each way to its points, the study without its axes too") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["exclude"] = {{{"/cluster/workers", 2}}};
  const std::string file = folder.write_json("s.json", scenario);
  const std::string said =
      file + ":/exclude: excludes nothing, since there are no axes. Found: " + scenario["exclude"].dump() +
      ". Leave it out, or give the study axes.";
  CHECK_THROWS_WITH_AS(load_scenario(file), said.c_str(), ConfigError);
  CHECK_THROWS_WITH_AS(load_numbered_point(file, 1), said.c_str(), ConfigError);
  CHECK_THROWS_WITH_AS(load_numbered_point(file, 0), said.c_str(), ConfigError);
}

TEST_CASE("a point by its number, as sweep plan counts them; 0 is the study without its axes") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["axes"] = {axis("/cluster/workers", {2, 3})};
  scenario["seeds"] = 2;
  const std::string file = folder.write_json("s.json", scenario);
  const NumberedPoint base = load_numbered_point(file, 0), third = load_numbered_point(file, 3);
  CHECK(base.scenario.resolved["cluster"]["workers"] == 4);
  CHECK(base.label == "");
  CHECK(third.scenario.resolved["cluster"]["workers"] == 3);
  CHECK(third.scenario.resolved["seed"] == 1);
  CHECK(third.label == "cluster/workers=3, seed=1");
  // What an axis sets in every point can be set where there is no axis.
  CHECK(load_numbered_point(file, 0, {{{"/cluster/workers", "7"}}, {}})
            .scenario.resolved["cluster"]["workers"] == 7);
  CHECK_THROWS_WITH(
      load_numbered_point(file, 5),
      ("--point: is not a point of " + file +
       ", which has 4. Found: 5. Give a number from 1 to 4, as simsgd sweep plan counts them, or 0 for the study without its axes.")
          .c_str());
}

// Ranges, and how coordinates are called.

namespace {

Json logarithmic(const Json& from, const Json& to, int points) {
  return log_range({{"from", from}, {"to", to}, {"points", points}});
}
Json linear(const Json& from, const Json& to, const Json& step) {
  return linear_range({{"from", from}, {"to", to}, {"step", step}});
}

}  // namespace

TEST_CASE("a log range has equal ratios and hits both bounds") {
  CHECK(logarithmic(0.001, 1.0, 4) == Json{0.001, 0.01, 0.1, 1.0});
  CHECK(logarithmic(1e9, 1e11, 3) == Json{1e9, 1e10, 1e11});
  CHECK(logarithmic(8.0, 1.0, 4) == Json{8.0, 4.0, 2.0, 1.0});
}

TEST_CASE("whole bounds give whole numbers, each once") {
  CHECK(logarithmic(8, 512, 7) == Json{8, 16, 32, 64, 128, 256, 512});
  CHECK(logarithmic(4, 64, 4) == Json{4, 10, 25, 64});
  CHECK(logarithmic(1, 4, 9) == Json{1, 2, 3, 4});
  CHECK(logarithmic(8, 512, 7)[0].is_number_integer());
}

TEST_CASE("bounds may have a unit") {
  CHECK(logarithmic("1 Gbps", "100 Gbps", 3) == Json{"1 Gbps", "10 Gbps", "100 Gbps"});
  CHECK(linear("1ms", "2 ms", "0.5 ms") == Json{"1 ms", "1.5 ms", "2 ms"});
}

TEST_CASE("a range has equal steps, up or down") {
  CHECK(linear(1, 7, 2) == Json{1, 3, 5, 7});
  CHECK(linear(1, 8, 2) == Json{1, 3, 5, 7});
  CHECK(linear(0.1, 0.3, 0.1) == Json{0.1, 0.2, 0.3});
  CHECK(linear(3, 1, -1) == Json{3, 2, 1});
}

TEST_CASE("bounds that cannot be used give nothing") {
  CHECK(logarithmic(0, 1, 3).empty());
  CHECK(logarithmic("1 ms", "1 s", 3).empty());
  CHECK(logarithmic("fast", "slow", 3).empty());
  CHECK(linear(1, 2, -1).empty());
  CHECK(linear(1, 2, 0).empty());
}

TEST_CASE("coordinates are called by what they choose") {
  CHECK(axis_label("/cluster/use") == "cluster");
  CHECK(axis_label("/algorithm/name") == "algorithm");
  CHECK(axis_label("/cluster/nic/bandwidth") == "cluster/nic/bandwidth");
  CHECK(value_label("clusters/ethernet-1g.json") == "ethernet-1g");
  CHECK(value_label("10 Gbps") == "10 Gbps");
  CHECK(value_label(8) == "8");
  CHECK(value_label(nullptr) == "null");
}

TEST_CASE("a method in Python is called by its file, which is shown where a shipped method has that name") {
  const Json shipped = {{"name", "local_sgd"}}, same = {{"name", "python"}, {"file", "a/local_sgd.py"}},
             own = {{"name", "python"}, {"file", "a/mine.py"}};
  const std::map<std::string, std::string> labels =
      value_labels({{"shipped", &shipped}, {"same", &same}, {"own", &own}});
  CHECK(labels.at("shipped") == "local_sgd");
  CHECK(labels.at("same") == "local_sgd (file a/local_sgd.py)");
  CHECK(labels.at("own") == "mine");
}

TEST_CASE("stragglers and links are told in words, not in JSON") {
  CHECK(value_label({{"name", "python"}, {"file", "a/slow_momentum.py"}}) == "slow_momentum");
  CHECK(value_label({{"name", "python"}, {"file", "a/all.py"}, {"function", "mine"}}) == "mine");
  CHECK(value_label(Json::array()) == "none");
  CHECK(value_label(Json::object()) == "default");
  CHECK(value_label(Json::parse(R"([{"name": "constant", "factor": 1.5, "workers": [3]}])")) ==
        "constant (factor 1.5, workers [3])");
  CHECK(value_label(
            Json::parse(R"([{"name": "markov", "factor": 3}, {"name": "exponential", "mean": "60 ms"}])")) ==
        "markov (factor 3) + exponential (mean 60 ms)");
  CHECK(value_label(Json::parse(R"({"slow_links": [{"nodes": [3], "bandwidth_factor": 0.1}]})")) ==
        "slow_links (bandwidth_factor 0.1, nodes [3])");
  CHECK(value_label(Json::parse(R"({"jitter": {"name": "exponential", "mean": "1 ms"}})")) ==
        "jitter (exponential (mean 1 ms))");
}

}  // namespace simsgd::test::scenarios_studies

// Studies: ranges, labels, conditions, draws, and seeds until certain. Points as text: messages/studies.txt.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/axis_values.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_studies {

TEST_CASE("a plain scenario is a study of one point") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_scenario()));
  REQUIRE(study.points.size() == 1);
  CHECK(study.points[0].label == "");
  CHECK(study.name == "s");
  CHECK(load_point(study, study.points[0]).resolved == load_scenario(folder.path("s.json")).resolved);
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

// Conditions, draws, and seeds until certain.

namespace {

std::string file_of(const Folder& folder, const Json& keys) {
  Json scenario = small_scenario();
  scenario.update(keys);
  return folder.write_json("s.json", scenario);
}

Study study_of(const Folder& folder, const Json& keys, const Overrides& overrides = {}) {
  return load_study(file_of(folder, keys), overrides);
}

std::vector<double> drawn(const Study& study, const std::string& pointer) {
  std::vector<double> values;
  for (const StudyPoint& point : study.points)
    for (const Assignment& each : settings_of(point))
      if (each.pointer == pointer) values.push_back(each.value.get<double>());
  return values;
}

}  // namespace

TEST_CASE("conditions compare labels, values, lists, quantities, defaults and what used files say") {
  const Folder folder;
  folder.write("devices/a.json", R"({"name": "A", "peak_flops": 1e12})");
  folder.write("devices/b.json", R"({"name": "B", "peak_flops": "2 TFLOPS"})");
  const Json local = {{"name", "local_sgd"}, {"period", 4}};
  const std::vector<Json> axes = {axis("/cluster/device/use", {"devices/a.json", "devices/b.json"}),
                                  axis("/algorithm", {{{"name", "allreduce_sgd"}}, local}),
                                  axis("/cluster/nic/bandwidth", {"1 Gbps", "10 Gbps", 2.5e9})};
  const auto left_out = [&](const Json& exclude) {
    return study_of(folder, {{"axes", axes}, {"exclude", exclude}}).left_out;
  };
  // Of 12 combinations, by hand.
  CHECK(left_out({{"cluster/device", "a"}}) == 6);
  CHECK(left_out({{"/cluster/device/use", "devices/a.json"}}) == 6);
  CHECK(left_out({{"/cluster/device/name", "B"}}) == 6);
  CHECK(left_out({{"/cluster/device/peak_flops", {{"above", 1.5e12}}}}) == 6);
  CHECK(left_out({{"/cluster/device/peak_flops", {{"at_most", "1 TFLOPS"}}}}) == 6);
  CHECK(left_out({{"/cluster/nic/bandwidth", {{"at_least", "10 Gbps"}, {"below", "20 Gbps"}}}}) == 4);
  CHECK(left_out({{"/cluster/nic/bandwidth", {{"above", "10 Gbps"}}}}) == 4);
  CHECK(left_out({{"/algorithm/name", {"local_sgd", "gtopk"}}, {"cluster/device", {{"not", "a"}}}}) == 3);
  CHECK(left_out({{{"algorithm", "local_sgd"}, {"cluster/device", "a"}},
                  {{"/cluster/nic/bandwidth", "1 Gbps"}}}) == 3 + 4 - 1);
  // A default of the language and one of the plug-in; one that only one algorithm has holds for it alone.
  CHECK(left_out({{"/seed", 1}, {"cluster/device", "a"}}) == 6);
  CHECK(left_out({{"/algorithm/period", {{"above", 3}}}}) == 6);
  CHECK(left_out({{"/algorithm/period", {{"not", 4}}}}) == 6);
  // The command line counts, too.
  CHECK(study_of(folder, {{"axes", axes}, {"exclude", {{"/stop/steps", 77}, {"cluster/device", "a"}}}},
                 {{{"/stop/steps", "77"}}, {}})
            .left_out == 6);
}

TEST_CASE(
    "random draws lie in their range, differ, and do not shift when more are drawn or dimensions added") {
  const Folder folder;
  const Json latency = {{"pointer", "/cluster/nic/latency"}, {"from", 1e-6}, {"to", 1e-2}, {"scale", "log"}};
  const Json workers = {{"pointer", "/cluster/workers"}, {"from", 2}, {"to", 5}};
  const auto of = [&](const Json& dimensions, int draws, int seed) {
    return expand_study(
        file_of(folder, {{"axes", {{{"random", dimensions}, {"draws", draws}, {"seed", seed}}}}}));
  };
  const Study study = of({latency, workers}, 400, 7);
  const std::vector<double> a = drawn(study, "/cluster/nic/latency"), b = drawn(study, "/cluster/workers");
  REQUIRE(a.size() == 400);
  CHECK(std::all_of(a.begin(), a.end(), [](double each) { return each >= 1e-6 && each <= 1e-2; }));
  // Log-uniform over four decades: half below 1e-4. Binomial, n = 400: standard deviation 10.
  const auto below = std::count_if(a.begin(), a.end(), [](double each) { return each < 1e-4; });
  CHECK(std::abs(below - 200) < 40);
  std::map<double, int> counts;
  for (const double each : b) ++counts[each];
  REQUIRE(counts.size() == 4);  // 2, 3, 4, 5: expected 100 each, standard deviation 8.7
  for (const auto& [value, count] : counts) CHECK(std::abs(count - 100) < 40);
  CHECK(drawn(of(Json::array({latency}), 10, 7), "/cluster/nic/latency") ==
        std::vector<double>(a.begin(), a.begin() + 10));
  CHECK(drawn(of(Json::array({latency}), 10, 8), "/cluster/nic/latency") !=
        std::vector<double>(a.begin(), a.begin() + 10));
}

TEST_CASE("of 2^m Sobol' draws each 2^-m-th of every range holds one, and every quarter of two 2^m / 16") {
  const Folder folder;
  const Json latency = {{"pointer", "/cluster/nic/latency"}, {"from", 0.0}, {"to", 1.0}};
  const Json overhead = {{"pointer", "/cluster/nic/bandwidth"}, {"from", 1e9}, {"to", 2e9}};
  for (const int seed : {1, 2, 99}) {
    CAPTURE(seed);
    const Study study = expand_study(
        file_of(folder, {{"axes", {{{"sobol", {latency, overhead}}, {"draws", 64}, {"seed", seed}}}}}));
    const std::vector<double> x = drawn(study, "/cluster/nic/latency"),
                              y = drawn(study, "/cluster/nic/bandwidth");
    REQUIRE(x.size() == 64);
    std::set<int> rows, columns;
    std::map<std::pair<int, int>, int> cells;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = y[i] / 1e9 - 1;
      rows.insert(static_cast<int>(x[i] * 64));
      columns.insert(static_cast<int>(v * 64));
      ++cells[{static_cast<int>(x[i] * 4), static_cast<int>(v * 4)}];
    }
    CHECK(rows.size() == 64);
    CHECK(columns.size() == 64);
    REQUIRE(cells.size() == 16);
    for (const auto& [cell, count] : cells) CHECK(count == 4);
  }
}

TEST_CASE("seeds until certain: points up to at_most, those beyond at_least optional, cells numbered") {
  const Folder folder;
  const Json seeds = {
      {"at_least", 2}, {"at_most", 4}, {"until", {{"metric", "simulated_time_s"}, {"half_width", "5 %"}}}};
  const Study study = study_of(folder, {{"axes", {axis("/cluster/workers", {2, 3})}}, {"seeds", seeds}});
  REQUIRE(study.points.size() == 8);
  REQUIRE(study.seed_rule);
  CHECK(study.seed_rule->half_width == doctest::Approx(0.05));
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(study.points[i].cell == i / 4);
    CHECK(study.points[i].optional == (i % 4 >= 2));
    CHECK(load_point(study, study.points[i]).resolved["seed"] == static_cast<int>(i % 4) + 1);
  }
}

}  // namespace simsgd::test::scenarios_studies

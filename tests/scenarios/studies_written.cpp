// Named values, conditions, draws and seeds until certain, as studies write them.
#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/scenarios/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::scenarios_studies_written {

namespace {

std::string file_of(const Folder& folder, const Json& keys) {
  Json scenario = small_scenario();
  scenario.update(keys);
  return folder.write_json("s.json", scenario);
}

Study study_of(const Folder& folder, const Json& keys, const Overrides& overrides = {}) {
  return load_study(file_of(folder, keys), overrides);
}

std::string errors_of(const Json& keys) {
  const Folder folder;
  return folder.without_folder(refusal_of<ConfigError>([&] { study_of(folder, keys); }));
}

const Json kSeverity = Json::parse(R"({"name": "severity", "values": [
  {"label": "none", "set": {}},
  {"label": "one slow", "set": {"/stragglers": [{"name": "constant", "factor": 2, "workers": [1]}]}},
  {"label": "slow and few", "set": {"/stop/steps": 3, "/stragglers": [{"name": "constant", "factor": 3, "workers": [0]}]}}
]})");

std::vector<double> drawn(const Study& study, const std::string& pointer) {
  std::vector<double> values;
  for (const StudyPoint& point : study.points)
    for (const Assignment& each : settings_of(point))
      if (each.pointer == pointer) values.push_back(each.value.get<double>());
  return values;
}

}  // namespace

TEST_CASE("a named value sets several things, is one coordinate, and leaves alone what it does not set") {
  const Folder folder;
  const Study study = study_of(folder, {{"axes", {kSeverity, axis("/cluster/workers", {2, 3})}}});
  CHECK(labels(study) == std::vector<std::string>{
                             "severity=none, cluster/workers=2", "severity=none, cluster/workers=3",
                             "severity=one slow, cluster/workers=2", "severity=one slow, cluster/workers=3",
                             "severity=slow and few, cluster/workers=2",
                             "severity=slow and few, cluster/workers=3"});
  REQUIRE(study.points[5].coordinates.size() == 2);
  CHECK(study.axes == std::vector<std::string>{"/stragglers", "/stop/steps", "/cluster/workers"});
  const Json none = load_point(study, study.points[0]).resolved,
             last = load_point(study, study.points[5]).resolved;
  CHECK(none["stop"]["steps"] == small_scenario()["stop"]["steps"]);
  CHECK(none["stragglers"].empty());
  CHECK(last["stop"]["steps"] == 3);
  CHECK(last["stragglers"][0]["factor"] == 3);
}

TEST_CASE("an error in a named value names its place in the file") {
  Json axes = {kSeverity};
  axes[0]["values"][1]["set"]["/stop/steps"] = -1;
  CHECK(
      errors_of({{"axes", axes}}) ==
      "s.json:/axes/0/values/1/set/~1stop~1steps: is out of range. Found: -1. Write a whole number of at least 1.");
  axes = {kSeverity};
  axes[0]["values"][1]["label"] = "none";
  axes[0]["values"][2]["set"]["workers"] = 1;
  CHECK(
      errors_of({{"axes", axes}}) ==
      "s.json:/axes/0/values/1/label: is the label of two values. Found: \"none\". Give each value its own.\n"
      "s.json:/axes/0/values/2/set/workers: is not a JSON pointer. Found: 1. Write keys such as \"/cluster/workers\".");
  CHECK(errors_of({{"axes", {kSeverity, axis("/stop/steps", {1, 2})}}})
            .starts_with("s.json:/axes: varies /stop/steps twice. "));
}

TEST_CASE("excluded combinations are left out and counted, and forbid nothing else") {
  const Folder folder;
  // 2 x 3 combinations; local_sgd with 3 workers or more is impossible here, say.
  const Json keys = {
      {"axes",
       {axis("/algorithm", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"period", 4}}}),
        axis("/cluster/workers", {2, 3, 4})}},
      {"exclude", {{"algorithm", "local_sgd"}, {"/cluster/workers", {{"above", 2}}}}}};
  const Study study = study_of(folder, keys);
  CHECK(labels(study) == std::vector<std::string>{"algorithm=allreduce_sgd, cluster/workers=2",
                                                  "algorithm=allreduce_sgd, cluster/workers=3",
                                                  "algorithm=allreduce_sgd, cluster/workers=4",
                                                  "algorithm=local_sgd, cluster/workers=2"});
  CHECK(study.left_out == 2);
}

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

TEST_CASE("an axis with a condition varies only where it holds, and is not set elsewhere") {
  const Folder folder;
  Json period = axis("/algorithm/period", {2, 5});
  period["when"] = {{"algorithm", "local_sgd"}};
  const Study study = study_of(
      folder,
      {{"axes", {axis("/algorithm", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}}}), period}}});
  CHECK(labels(study) == std::vector<std::string>{"algorithm=allreduce_sgd, algorithm/period=-",
                                                  "algorithm=local_sgd, algorithm/period=2",
                                                  "algorithm=local_sgd, algorithm/period=5"});
  CHECK(!load_point(study, study.points[0]).resolved["algorithm"].contains("period"));
  CHECK(load_point(study, study.points[2]).resolved["algorithm"]["period"] == 5);
}

TEST_CASE("conditions that cannot be meant are errors") {
  const std::vector<Json> axes = {axis("/cluster/workers", {2, 3}), kSeverity};
  CHECK(
      errors_of({{"axes", axes}, {"exclude", {{"severty", "none"}}}}) ==
      "s.json:/exclude/severty: names no axis and is not a pointer. Found: \"none\". Did you mean \"severity\"? Axes here: cluster/workers or severity; or write a pointer such as \"/cluster/workers\".");
  CHECK(
      errors_of({{"axes", axes}, {"exclude", {{"/cluster/wrokers", 2}}}}) ==
      "s.json:/exclude/~1cluster~1wrokers: asks for /cluster/wrokers, which no point has. Found: 2. Name a setting of the scenario.");
  CHECK(
      errors_of({{"axes", axes}, {"exclude", {{"/cluster/workers", {{"over", 2}}}}}}) ==
      "s.json:/exclude/~1cluster~1workers: compares with \"over\". Found: {\"over\":2}. Write above, at_least, at_most, below or not.");
  CHECK(
      errors_of({{"axes", axes}, {"exclude", {{"/cluster/workers", {{"at_least", 1}}}}}}) ==
      "s.json:/exclude: leaves out every point. Found: {\"/cluster/workers\":{\"at_least\":1}}. Exclude fewer.");
  Json early = axes[0];
  early["when"] = {{"severity", "none"}};
  CHECK(
      errors_of({{"axes", {early, kSeverity}}}) ==
      "s.json:/axes/0/when/severity: names an axis that does not come before this one. Found: \"none\". Put the other axis first.");
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

TEST_CASE("draws need a range") {
  CHECK(
      errors_of(
          {{"axes",
            {{{"sobol", {{{"pointer", "/cluster/nic/latency"}, {"from", 0}, {"to", 1}, {"scale", "log"}}}},
              {"draws", 4}}}}}) ==
      "s.json:/axes/0/sobol/0: has bounds between which nothing can be drawn. Found: {\"from\":0,\"pointer\":\"/cluster/nic/latency\",\"scale\":\"log\",\"to\":1}. Give \"from\" below \"to\", in one unit, and above 0 where the scale is log.");
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
  Json bad = seeds;
  bad["at_least"] = 5;
  bad["until"]["half_width"] = "5 s";
  CHECK(
      errors_of({{"seeds", bad}}) ==
      "s.json:/seeds/until/half_width: is not a share of the mean. Found: \"5 s\". Write one such as \"5 %\" or 0.05.\n"
      "s.json:/seeds/at_least: is more than \"at_most\". Found: 5. Write at most as many.");
}

TEST_CASE("more seeds or points than any study has are refused at once") {
  CHECK(errors_of({{"seeds", 2147483648}}) ==
        "s.json:/seeds: is out of range. Found: 2147483648. Write a whole number from 1 to 100000.");
  std::vector<Json> axes;
  for (const char* pointer : {"/seed", "/stop/steps", "/cluster/workers", "/workload/batch"})
    axes.push_back({{"pointer", pointer}, {"range", {{"from", 1}, {"to", 400}, {"step", 1}}}});
  CHECK(errors_of({{"axes", axes}}).starts_with("s.json:/axes: make more than 100000 points. "));
}

}  // namespace simsgd::test::scenarios_studies_written

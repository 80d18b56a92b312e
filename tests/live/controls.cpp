// What visitors may set, and the points that come of it.
#include "analysis/faces/live/controls.hpp"

#include <doctest/doctest.h>

#include "analysis/faces/live/source.hpp"
#include "tests/report/support.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::live_controls {

using live::BadChoice;
using live::Controls;

namespace {

Study study_with(const Folder& folder, const Json& axes, const Json& more = Json::object()) {
  Json study = small_scenario();
  study["name"] = "s";
  study["axes"] = axes;
  study.update(more);
  return expand_study(folder.write_json("s.json", study));
}

// As it comes: parsed from text.
Json at(const Json& values) { return Json::parse(Json{{"at", values}}.dump()); }

}  // namespace

TEST_CASE("a range of numbers takes what lies in it; on the study's own values, these") {
  const Folder folder;
  const Study study =
      study_with(folder, {{{"pointer", "/cluster/workers"}, {"values", {2, 8, 64}}},
                          {{"pointer", "/cluster/nic/bandwidth"}, {"values", {"1 Gbps", "10 Gbps"}}},
                          {{"pointer", "/cluster/nic/latency"}, {"values", {1e-6, 3e-6}}}});
  const Controls controls(study);
  const auto made = controls.json()["controls"];
  CHECK(made[0]["range"]["whole"] == true);
  CHECK(made[0]["range"]["log"] == true);
  CHECK(made[1]["range"]["unit"] == "Gbps");
  CHECK(made[1]["range"]["log"] == false);
  CHECK(made[2]["range"]["whole"] == false);
  const StudyPoint off = controls.points(at({{{"number", 12}}, {{"number", 2.5}}, {{"number", 2e-6}}})).at(0);
  CHECK(off.label == "cluster/workers=12, cluster/nic/bandwidth=2.5 Gbps, cluster/nic/latency=2e-06");
  CHECK(off.coordinates[0].value == 12);
  CHECK(off.coordinates[1].value == "2.5 Gbps");
  CHECK(load_point(study, off).resolved["cluster"]["workers"] == 12);
  const StudyPoint on = controls.points(at({{{"number", 8}}, {{"number", 10}}, {{"number", 3e-6}}})).at(0);
  CHECK(on.coordinates == study.points[7].coordinates);  // the very same: its run has the same key
  CHECK(on.label == study.points[7].label);
  for (const Json& bad : {Json({{"number", 65}}), Json({{"number", 8.5}}), Json({{"choice", 0}}), Json(8)})
    CHECK_THROWS_AS(controls.points(at({bad, {{"number", 10}}, {{"number", 3e-6}}})), BadChoice);
}

TEST_CASE("what is not a range is chosen from the list: names, zips, mixed units, one value") {
  const Folder folder;
  const Study study = study_with(
      folder, {{{"pointer", "/cluster/nic/bandwidth"}, {"values", {"100 Mbps", "1 Gbps"}}},
               {{"zip",
                 {{{"pointer", "/cluster/workers"}, {"values", {2, 4}}},
                  {{"pointer", "/workload/batch"}, {"values", {8, 4}}}}}},
               {{"name", "network"}, {"values", {{{"label", "as it is"}, {"set", Json::object()}}}}},
               {{"pointer", "/stop/steps"}, {"values", {5}}}});
  const Controls controls(study);
  const auto made = controls.json()["controls"];
  REQUIRE(made.size() == 4);
  CHECK(made[1]["name"] == "cluster/workers, workload/batch");
  CHECK(made[1]["labels"] == nlohmann::ordered_json({"2, 8", "4, 4"}));
  CHECK(made[3]["labels"] == nlohmann::ordered_json({"5"}));
  const Json one = {{"choice", 1}}, none = {{"choice", 0}};
  CHECK(controls.points(at({one, one, none, none})).at(0).coordinates == study.points[3].coordinates);
  CHECK_THROWS_WITH(controls.points(at({one, {{"choice", 2}}, none, none})),
                    "cluster/workers, workload/batch: choose one of its 2 values.");
  CHECK_THROWS_AS(controls.points(at({one, {{"choice", -1}}, none, none})), BadChoice);
}

TEST_CASE("draws: each dimension between its bounds, or one of its values") {
  const Folder folder;
  const Study study = study_with(
      folder,
      {{{"sobol",
         {{{"pointer", "/cluster/nic/bandwidth"}, {"from", "1 Gbps"}, {"to", "100 Gbps"}, {"scale", "log"}},
          {{"pointer", "/cluster/workers"}, {"values", {2, 4}}}}},
        {"draws", 4}}});
  const Controls controls(study);
  const auto made = controls.json()["controls"];
  REQUIRE(made.size() == 2);
  CHECK(made[0]["range"]["log"] == true);
  CHECK(made[1]["labels"] == nlohmann::ordered_json({"2", "4"}));
  const StudyPoint point = controls.points(at({{{"number", 7}}, {{"choice", 1}}})).at(0);
  CHECK(point.label == "cluster/nic/bandwidth=7 Gbps, cluster/workers=4");
  CHECK_THROWS_WITH(controls.points(at({{{"number", 101}}, {{"choice", 1}}})),
                    "cluster/nic/bandwidth: give a number from 1 to 100 Gbps.");
}

TEST_CASE("conditions of the study hold for points that it does not list") {
  const Folder folder;
  const Study study = study_with(
      folder,
      {{{"pointer", "/algorithm/name"}, {"values", {"allreduce_sgd", "local_sgd"}}},
       {{"pointer", "/algorithm/period"}, {"values", {2, 10}}, {"when", {{"algorithm", "local_sgd"}}}},
       {{"pointer", "/cluster/workers"}, {"values", {2, 16}}}},
      {{"exclude", {{{"algorithm", "local_sgd"}, {"/cluster/workers", {{"above", 8}}}}}}, {"seeds", {3, 5}}});
  const Controls controls(study);
  CHECK(controls.json()["seeds"] == 2);
  const auto asked = [](int algorithm, int period, int workers) {
    Json all = at({{{"choice", algorithm}}, {{"number", period}}, {{"number", workers}}});
    all["seeds"] = 2U;
    return all;
  };
  const auto plain = controls.points(asked(0, 5, 9));
  REQUIRE(plain.size() == 2);
  CHECK(plain[0].label == "algorithm=allreduce_sgd, algorithm/period=-, cluster/workers=9, seed=3");
  CHECK(plain[1].coordinates.back().value == 5);
  CHECK(controls.points(asked(1, 5, 8)).at(0).label ==
        "algorithm=local_sgd, algorithm/period=5, cluster/workers=8, seed=3");
  CHECK_THROWS_WITH(controls.points(asked(1, 5, 9)), "The study's \"exclude\" leaves this combination out.");
}

TEST_CASE("of seeds until certain a visitor has the first ones") {
  const Folder folder;
  const Study study =
      study_with(folder, {{{"pointer", "/cluster/workers"}, {"values", {2, 4}}}},
                 {{"seeds",
                   {{"at_least", 3},
                    {"at_most", 9},
                    {"until", {{"metric", "throughput_samples_per_s"}, {"half_width", 0.1}}}}}});
  CHECK(Controls(study).json()["seeds"] == 3);
}

TEST_CASE("added points stand where their numbers do, and names where they came") {
  std::vector<ResultPoint> points;
  for (const char* algorithm : {"wagma", "sgp"})
    for (const int workers : {2, 8})
      points.push_back(made_point({{"/algorithm", algorithm}, {"/cluster/workers", workers}}, 1, {}));
  points.push_back(made_point({{"/algorithm", "wagma"}, {"/cluster/workers", 4}}, 2, {}));
  points.push_back(made_point({{"/algorithm", "wagma"}, {"/cluster/workers", 4}}, 1, {}));
  points.push_back(made_point({{"/algorithm", "new"}, {"/cluster/workers", 1}}, 1, {}));
  live::order_by_values(points);
  std::vector<std::string> keys;
  for (const ResultPoint& each : points) keys.push_back(each.key);
  CHECK(keys == std::vector<std::string>{"wagma/2/1", "wagma/4/1", "wagma/4/2", "wagma/8/1", "sgp/2/1",
                                         "sgp/8/1", "new/1/1"});
}

}  // namespace simsgd::test::live_controls

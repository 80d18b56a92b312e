// Fits to data of known truth: the parameters come back, their intervals hold them as often as they say, and
// what is wrong with a spec or its data is told.
#include <doctest/doctest.h>

#include <filesystem>

#include "analysis/calibration/calibrate.hpp"
#include "scenarios/language/calibration_draws.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::calibration_fit {

using doctest::Approx;

TEST_CASE("a fit to exact data finds the truth, and predicts what was left out of it") {
  const TrueRing truth;
  const auto calibration = SpecFolder(ring_spec(2), ring_rows(truth, 0, 1)).run();
  CHECK(calibration->best().values[0] == Approx(truth.launch_s).epsilon(1e-4));
  CHECK(calibration->best().values[1] == Approx(truth.latency_s).epsilon(1e-4));
  CHECK(calibration->best().values[2] == Approx(truth.bandwidth_Bps).epsilon(1e-4));
  CHECK(calibration->tests[0].front().all.worst < 1e-4);
  CHECK(calibration->warnings.empty());
}

TEST_CASE("one outlier of a factor of 3 does not move a fit by more than a few percent") {
  std::vector<MeasuredRow> rows = ring_rows({}, 0, 1);
  rows[5].seconds *= 3;
  const auto calibration = SpecFolder(ring_spec(2), rows).run();
  CHECK(calibration->best().values[2] == Approx(TrueRing().bandwidth_Bps).epsilon(0.03));
  CHECK(calibration->tests[0].front().all.mean < 0.03);
}

TEST_CASE("the same data give the same bytes, whatever the number of jobs") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 4));
  CalibrationSettings one, two;
  one.data = two.data = folder.directory();
  two.jobs = 2;
  const Spec spec = load_spec(folder.folder.path("spec.json"));
  CHECK(calibration_json(*calibrate(spec, one)).dump() == calibration_json(*calibrate(spec, two)).dump());
}

TEST_CASE("a bound that is reached is told") {
  Json spec = ring_spec(2);
  spec["models"][0]["parameters"][2]["high"] = "2 GB/s";
  const auto calibration = SpecFolder(spec, ring_rows({}, 0, 1)).run();
  REQUIRE(calibration->warnings.size() == 1);
  CHECK(calibration->warnings[0].find("bandwidth ended at a bound") == 0);
}

TEST_CASE("of several models the one that predicts parts left out is chosen") {
  Json spec = ring_spec(2);
  Json wrong = spec["models"][0];
  wrong["name"] = "tree";
  wrong["set"] = {{"/cluster/collectives/all_reduce", {{{"schedule", "tree"}}}}};
  spec["models"].insert(spec["models"].begin(), wrong);
  const auto calibration = SpecFolder(spec, ring_rows({}, 0.01, 2)).run();
  CHECK(calibration->model().name == "ring");
  CHECK(calibration->models[0].left_out_error > 3 * calibration->models[1].left_out_error);
}

TEST_CASE(
    "a parameter of some measurements is fitted to these alone, and several columns are left out together") {
  Json spec = ring_spec(2);
  Json& parameters = spec["models"][0]["parameters"];
  parameters.push_back(parameters[0]);
  parameters[0]["where"] = {{"campaign", "a"}};
  parameters[3]["where"] = {{"campaign", "b"}};
  parameters[3]["name"] = "launch of b";
  spec["fit"]["leave_out"] = "workers,campaign";
  spec["fit"]["leave_out_where"] = {{"campaign", "b"}};
  const TrueRing truth, slower{9e-5, truth.latency_s, truth.bandwidth_Bps};
  std::vector<MeasuredRow> rows = ring_rows(truth, 0, 1);
  for (MeasuredRow row : ring_rows(slower, 0, 1)) {
    row.campaign = "b";
    rows.push_back(row);
  }
  const SpecFolder folder(spec, rows);
  const auto calibration = folder.run();
  CHECK(calibration->best().values[0] == Approx(truth.launch_s).epsilon(1e-3));
  CHECK(calibration->best().values[3] == Approx(slower.launch_s).epsilon(1e-3));
  CHECK(calibration->tests[0].front().all.worst < 1e-3);
  const std::vector<LeftOut>& left_out = calibration->models[0].left_out;
  REQUIRE(left_out.size() == 2);
  CHECK(left_out[0].part == "workers,campaign 2, b");
  CHECK(left_out[1].part == "workers,campaign 4, b");
  CHECK(calibration_text(*calibration).find("launch of b") != std::string::npos);
  const std::vector<LeftOutColumn> columns = left_out_columns(*calibration);
  REQUIRE(columns.size() == 1);
  CHECK(calibration_markdown(*calibration).find("workers,campaign") != std::string::npos);
  // A cluster has one launch: none of the two can be written.
  CHECK_THROWS_WITH_AS(calibrated_cluster(*calibration, folder.directory(), "2026-01-31"),
                       doctest::Contains("\"launch\" depends on the column campaign"), RunError);
}

TEST_CASE("a table by size finds where the library changes, and how often") {
  Json spec = ring_spec(2);
  spec["models"][0] = {{"name", "table"},
                       {"searches",
                        {{{"pointer", "/cluster/collectives/all_reduce"},
                          {"schedules", {"ring", "recursive_doubling"}},
                          {"most", 4},
                          {"parts", {"launch", "payload"}}}}}};
  spec["fit"]["where"] = {{"workers", 4}};
  std::vector<MeasuredRow> rows = ring_rows({0, 1e-6, 10e9}, 0, 1);
  for (MeasuredRow& row : rows)  // beside the cluster's own ring: 50 us to 1 MiB, 200 us and 1e-10 s/B beyond
    row.seconds += row.bytes <= 1048576 ? 5e-5 : 2e-4 + 1e-10 * row.bytes;
  const auto calibration = SpecFolder(spec, rows).run();
  const Json table = calibration->best().tables.front().second;
  REQUIRE(table.size() == 2);
  CHECK(table[0]["launch"].get<double>() == Approx(5e-5).epsilon(0.02));
  CHECK(table[1]["payload"].get<double>() == Approx(1e-10).epsilon(0.02));
  CHECK(table[0]["up_to"].get<double>() >= 1048576);
  CHECK(table[0]["up_to"].get<double>() < 2097152);
  CHECK(calibration->tests[0].front().all.worst < 0.05);
}

TEST_CASE("what is wrong with a spec is told, and nothing is fitted") {
  const std::vector<MeasuredRow> rows = ring_rows({}, 0, 1);
  const auto errors = [&rows](const char* pointer, const Json& value) {
    Json spec = ring_spec();
    spec[Json::json_pointer(pointer)] = value;
    return SpecFolder(spec, rows).errors();
  };
  const auto tells = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  tells(errors("/tests/0/where", {{"workers", {4, 8}}}), "of the fitted measurements");
  tells(errors("/fit/where", {{"bytes", 1024}, {"workers", 2}}), "selects 1 of 57 measurements");
  tells(errors("/fit/where", {{"workers", 3}}), "selects 0 of 57 measurements");
  tells(errors("/models/0/parameters/0/high", "1 furlong"), "/models/0/parameters/0/high: is not a quantity");
  tells(errors("/models/0/parameters/0/low", "2 ms"), "/models/0/parameters/0/high: is not above");
  tells(errors("/predict/0/where", {{"workers", 2}}), "predicts no time_s");
  tells(errors("/data/0/files/0", "none.csv"), "none.csv");
  tells(errors("/fit/oops", 1), "oops");
  tells(errors("/stragglers", Json::object()), "cannot be combined with");
}

TEST_CASE("measurements that are not above 0 are left out, and counted") {
  std::vector<MeasuredRow> rows = ring_rows({}, 0, 1);
  rows[3].seconds = 0;
  const auto calibration = SpecFolder(ring_spec(2), rows).run();
  REQUIRE(!calibration->warnings.empty());
  CHECK(calibration->warnings[0].find("left out measurements that are not above 0") == 0);
}

TEST_CASE("without parts to leave out the report says that the model's own error is unknown") {
  Json spec = ring_spec(2);
  spec["fit"]["leave_out"] = "campaign";
  const auto calibration = SpecFolder(spec, ring_rows({}, 0.01, 1)).run();
  CHECK(calibration_text(*calibration).find("the model's own error is unknown") != std::string::npos);
}

TEST_CASE("the calibrated cluster is a cluster file, whose numbers say where they come from") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 3));
  const auto calibration = folder.run();
  const Json cluster = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  CHECK(cluster["calibration"]["date"] == "2026-01-31");
  CHECK(cluster["calibration"]["measured"]["workers"] == Json{{"low", 2}, {"high", 4}});
  CHECK(cluster["calibration"]["data"][0]["fitted"] == 38);
  CHECK(cluster["calibration"]["parameters"].size() == 3);
  CHECK(cluster["calibration"]["draws"].size() == 20);
  Json scenario = small_scenario();
  scenario["cluster"] = cluster;
  scenario["cluster"]["workers"] = 4;
  CHECK(job_of(scenario).cluster.network.links.front().bandwidth_Bps ==
        Approx(calibration->best().values[2]).epsilon(1e-5));
}

TEST_CASE("parameters that change no prediction are refused, all at once, by name and pointer") {
  const auto errors_with = [](const std::vector<std::pair<std::string, std::string>>& more) {
    Json spec = ring_spec();
    for (const auto& [name, pointer] : more)
      spec["models"][0]["parameters"].push_back(
          {{"name", name}, {"pointers", {pointer}}, {"low", 1e9}, {"high", 9e9}});
    const SpecFolder folder(spec, ring_rows({}, 0.01, 2));
    return folder.folder.without_folder(folder.errors());
  };
  const std::string idle =
      errors_with({{"memory", "/cluster/device/memory_bandwidth"}, {"peak", "/cluster/device/peak_flops"}});
  CAPTURE(idle);
  CHECK(
      idle.find(
          "spec.json:/models/0/parameters/3: \"memory\" changes no prediction of a fitted measurement anywhere from 1e+09 to 9e+09. Found: [\"/cluster/device/memory_bandwidth\"]. Leave it out") !=
      std::string::npos);
  CHECK(idle.find("spec.json:/models/0/parameters/4: \"peak\" changes no prediction") != std::string::npos);
  const std::string typo = errors_with({{"typo", "/cluster/host/lanch"}});
  CAPTURE(typo);
  CHECK(
      typo.find(
          "spec.json:/models/0/parameters/3/pointers: \"typo\" sets a key that scenarios do not have. Found: /cluster/host/lanch") !=
      std::string::npos);
}

namespace {

/// Two equal ways, of which the first is taken unless the ensemble makes it take a second.
Json spec_of_ways() {
  Json spec = ring_spec(2);
  spec["scenario"]["cluster"]["collectives"] = {
      {"all_reduce", {{"fastest", {{{"schedule", "ring"}}, {{"schedule", "ring"}}}}}}};
  Json& model = spec["models"][0];
  model["parameters"][0]["pointers"] = {"/cluster/collectives/all_reduce/fastest/1/launch"};
  model["ensemble"] = {{{"name", "first way"},
                        {"pointer", "/cluster/collectives/all_reduce/fastest/0/launch"},
                        {"values", {0, 1}}}};
  return spec;
}

Json spec_of_table() {
  Json spec = ring_spec();
  spec["models"][0] = {{"name", "table"},
                       {"parameters", Json::array()},
                       {"searches",
                        {{{"pointer", "/cluster/collectives/all_reduce"},
                          {"schedules", {"ring"}},
                          {"most", 2},
                          {"parts", {"launch", "payload"}}}}}};
  return spec;
}

}  // namespace

TEST_CASE(
    "pointers that set what no scenario has are refused before a run fails on them, those of all models at once") {
  Json spec = ring_spec(), second = spec["models"][0];
  second["name"] = "second";
  spec["models"][0]["parameters"][1]["pointers"] = {"/cluster/nic/lanecy"};
  second["parameters"][2]["pointers"] = {"/cluster/nic/bandwidth", "/algorithm/nothing"};
  second["ensemble"] = {{{"name", "z"}, {"pointer", "/network/all_reduze"}, {"values", {"ring", "tree"}}}};
  second["searches"] = {
      {{"pointer", "/cluster/collectives/all_reduze"}, {"schedules", {"ring"}}, {"most", 2}}};
  spec["models"].push_back(second);
  const SpecFolder folder(spec, ring_rows({}, 0.01, 2));
  const std::string errors = folder.folder.without_folder(folder.errors());
  CAPTURE(errors);
  CHECK(
      errors.find(
          "spec.json:/models/0/parameters/1/pointers: \"latency\" sets a key that scenarios do not have. Found: "
          "/cluster/nic/lanecy. Correct the pointer") != std::string::npos);
  CHECK(
      errors.find(
          "spec.json:/models/1/parameters/2/pointers: \"bandwidth\" sets a key that scenarios do not have. Found: "
          "/algorithm/nothing") != std::string::npos);
  CHECK(errors.find("spec.json:/models/1/ensemble/0/pointer: \"z\" sets a key that scenarios do not have") !=
        std::string::npos);
  CHECK(
      errors.find(
          "spec.json:/models/1/searches/0/pointer: \"a table\" sets a key that scenarios do not have. Found: "
          "/cluster/collectives/all_reduze") != std::string::npos);
}

TEST_CASE("a parameter that changes no prediction is refused before anything is fitted") {
  const Json peak = {
      {"name", "peak"}, {"pointers", {"/cluster/device/peak_flops"}}, {"low", 1e9}, {"high", 9e9}};
  for (Json second : {ring_spec()["models"][0], spec_of_ways()["models"][0], spec_of_table()["models"][0]}) {
    Json spec = second.contains("ensemble") ? spec_of_ways() : ring_spec();
    second["name"] = "second";
    second["parameters"].push_back(peak);
    spec["models"].push_back(second);
    CAPTURE(second.dump());
    const SpecFolder folder(spec, ring_rows({}, 0.01, 2));
    std::vector<std::string> stages;
    CalibrationSettings settings;
    settings.data = folder.directory();
    settings.progress = [&](const std::string& stage, std::uint64_t) { stages.push_back(stage); };
    try {
      calibrate(load_spec(folder.folder.path("spec.json")), settings);
      FAIL("was fitted");
    } catch (const IdleParameters& error) {
      CHECK(error.model == "second");
      CHECK(error.names == std::vector<std::string>{"peak"});
    }
    CHECK(stages == std::vector<std::string>{"importing"});
  }
}

TEST_CASE("a parameter that goes with the second member of an ensemble alone is fitted") {
  const SpecFolder folder(spec_of_ways(), ring_rows({}, 0.01, 2));
  const auto calibration = folder.run();
  CHECK(calibration->best().member == 1);
  CHECK(calibration->best().values[0] == Approx(TrueRing{}.launch_s).epsilon(0.2));
}

TEST_CASE("a way that others are faster than at the best fit still is fitted: at a bound it is taken") {
  Json spec = ring_spec();
  spec["scenario"]["cluster"]["collectives"] = {
      {"all_reduce", {{"fastest", {{{"schedule", "ring"}}, {{"schedule", "ring"}}}}}}};
  Json& parameters = spec["models"][0]["parameters"];
  parameters[0]["pointers"] = {"/cluster/collectives/all_reduce/fastest/0/launch"};
  parameters.push_back({{"name", "slow way"},
                        {"pointers", {"/cluster/collectives/all_reduce/fastest/1/launch"}},
                        {"low", "1 us"},
                        {"high", "10 ms"}});
  CHECK(SpecFolder(spec, ring_rows({}, 0.01, 2)).errors().empty());
}

TEST_CASE("a cluster that run would refuse is not written") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.01, 2));
  Json cluster = calibrated_cluster(*folder.run(), folder.directory(), "2026-01-31");
  CHECK_NOTHROW(check_cluster(cluster, "out.json"));
  cluster["host"]["lanch"] = 1e-6;
  cluster["collectives"]["all_reduce"][0]["schedule"] = "rnig";
  try {
    check_cluster(cluster, "out.json");
    FAIL("was taken");
  } catch (const ConfigError& error) {
    const std::string errors = error.what();
    CAPTURE(errors);
    CHECK(errors.find("out.json:/host/lanch") != std::string::npos);
    CHECK(errors.find("out.json:/collectives/all_reduce/0/schedule") != std::string::npos);
  }
}

TEST_CASE(
    "conditions of a used spec that leave too little to fit are shown, with the file and what there is") {
  Json base = ring_spec();
  base["fit"]["where"] = {{"workers", {16, 32}}, {"bytes", {{"at_least", "1 MiB"}}}};
  const SpecFolder folder({{"use", "base.json"}, {"name", "derived"}}, ring_rows({}, 0, 1));
  folder.folder.write_json("base.json", base);
  const std::string errors = folder.folder.without_folder(folder.errors());
  CAPTURE(errors);
  CHECK(errors.find(
            "base.json:/fit/where: selects 0 of 57 measurements, and the model \"ring\" has 3 parameters") ==
        0);
  CHECK(errors.find("\"workers\": [16,32] matches 0 measurements; the data have 2, 4, 8") !=
        std::string::npos);
  CHECK(
      errors.find(
          "\"bytes\": {\"at_least\":\"1 MiB\"} matches 27 measurements; the data have 19 values, 1024 to 268435456") !=
      std::string::npos);
}

// Every committed calibration is one: it is read without an error. What goes with some measurements only, and
// cannot be written into a cluster, is refused where one is asked for.

TEST_CASE("every committed calibration is read without an error") {
  int specs = 0;
  for (const char* folder : {"/scenarios/calibration", "/scenarios/book"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SIMSGD_SOURCE_DIR) + folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".json" || name == "book.json" || name == "judged.json") continue;
      CAPTURE(entry.path().string());
      Spec spec;
      CHECK_NOTHROW(spec = load_spec(entry.path().string()));
      for (const ModelSpec& model : spec.models)
        for (const ParameterSpec& each : model.parameters)
          for (const std::string& pointer : each.pointers) {
            CAPTURE(pointer);
            CHECK((setting_value(pointer, each.low) || setting_value(pointer, each.high)));
          }
      for (const ModelSpec& model : spec.models) {
        for (const EnsembleSpec& each : model.ensemble) {
          CAPTURE(each.pointer);
          CHECK(setting_value(each.pointer, each.values.front()));
        }
        for (const SearchSpec& each : model.searches) {
          CAPTURE(each.pointer);
          CHECK((setting_value(each.pointer, Json::array({{{"schedule", "ring"}}})) ||
                 setting_value(each.pointer, Json::array({{{"latency", 0}, {"bandwidth", 1}}}))));
        }
      }
      ++specs;
    }
  CHECK(specs >= 17);
}

namespace {

/// The ring, whose launch is fitted of some measurements only.
Json ring_where(const Json& where) {
  Json spec = ring_spec();
  spec["models"][0]["parameters"][0]["where"] = where;
  return spec;
}

std::string errors_of(const Json& spec, SpecUse use) {
  const Folder folder;
  folder.write_json("spec.json", spec);
  return refusal_of<ConfigError>([&] { load_spec(folder.path("spec.json"), use); });
}

}  // namespace

TEST_CASE("what goes with a column that no scenario has is reported, and refused for a cluster's file") {
  Json spec = ring_where({{"campaign", "a"}});
  spec["models"][0]["ensemble"] = {{{"name", "schedule"},
                                    {"pointer", "/network/all_reduce"},
                                    {"values", {"ring", "rabenseifner"}},
                                    {"where", {{"workers", {{"power_of", 2}}}}}}};
  CHECK(errors_of(spec, SpecUse::reports).empty());
  const std::string errors = errors_of(spec, SpecUse::cluster);
  CAPTURE(errors);
  for (
      const char* text :
      {"spec.json:/models/0/parameters/0/where/campaign: selects by a column that scenarios do not have, so the value cannot be written into a cluster",
       "Select by algorithm, workload, workers, nodes or batch, with a value, at_least or at_most; or only report (without -o, or with validate)",
       "spec.json:/models/0/ensemble/0/where/workers: selects by a column"})
    CHECK(errors.find(text) != std::string::npos);
}

TEST_CASE(
    "a number of the cluster is one for all scenarios: a condition on it is refused for a cluster's file") {
  Json spec = ring_where({{"workers", {2, 4}}});
  CHECK(errors_of(spec, SpecUse::reports).empty());
  const std::string errors = errors_of(spec, SpecUse::cluster);
  CAPTURE(errors);
  CHECK(
      errors.find(
          "/models/0/parameters/0/where: selects scenarios for a number of the cluster, which has one value for all of them") !=
      std::string::npos);
  spec["models"][0]["parameters"][0]["pointers"] = {"/workload/compute_factor"};
  CHECK(errors_of(spec, SpecUse::cluster).empty());
}

}  // namespace simsgd::test::calibration_fit

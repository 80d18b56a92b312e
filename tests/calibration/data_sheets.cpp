// Where nothing was calibrated: the table of what data sheets were off by, what is made of it, and what a run
// says.
#include "analysis/data_sheet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/collective_bench.hpp"
#include "analysis/runner.hpp"
#include "analysis/runs/results.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/recording/metrics.hpp"
#include "support.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::calibration_data_sheets {

namespace {

struct Cell {
  std::string kind, study, name;
  double measured_s = 0, predicted_s = 0;
};

std::vector<Cell> cells() {
  std::vector<Cell> all;
  std::istringstream text(read_file(SIMSGD_SOURCE_DIR "/docs/papers/data_sheets.csv"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("#") || line.starts_with("kind,")) continue;
    std::istringstream fields(line);
    Cell cell;
    std::string measured, predicted;
    std::getline(fields, cell.kind, ',');
    std::getline(fields, cell.study, ',');
    std::getline(fields, cell.name, ',');
    std::getline(fields, measured, ',');
    std::getline(fields, predicted, ',');
    cell.measured_s = std::stod(measured);
    cell.predicted_s = std::stod(predicted);
    all.push_back(cell);
  }
  return all;
}

double predicted(const std::string& study, const std::string& name, const std::string& kind) {
  for (const Cell& each : cells())
    if (each.study == study && each.name == name && each.kind == kind) return each.predicted_s;
  FAIL(kind << " of " << name << " is not in the table");
  return 0;
}

/// Of a sample of n the p (n + 1)-th, between order statistics.
double quantile_of(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const double at = std::clamp(p * (n + 1) - 1, 0.0, n - 1);
  const auto below = static_cast<std::size_t>(at), above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

/// The document of a run, with the intervals that `run` gives.
Json run(const Json& scenario, int draws = kUsualDraws) {
  const Folder folder;
  return run_with_intervals(load_scenario(folder.write_json("s.json", scenario)), {},
                            {.draws = draws, .jobs = 1, .progress = {}})
      .document;
}

double end_of(const Json& document, const char* metric, std::size_t level, const char* end) {
  return document["intervals"][metric][level][end].get<double>();
}

}  // namespace

TEST_CASE("what data sheets are off by is what the committed table of measurements says") {
  const std::map<std::string, SheetRatios> kinds = {
      {"measured", kSheetMeasured}, {"modelled", kSheetModelled}, {"communication", kSheetCommunication}};
  for (const auto& [kind, said] : kinds) {
    CAPTURE(kind);
    std::vector<double> ratios;
    for (const Cell& each : cells())
      if (each.kind == kind) ratios.push_back(each.measured_s / each.predicted_s);
    REQUIRE(ratios.size() >= 5);
    for (std::size_t i = 0; i < kIntervalLevels.size(); ++i) {
      const double beyond = (1 - kIntervalLevels[i]) / 2;
      CHECK(said.low[i] == doctest::Approx(std::min(1.0, quantile_of(ratios, beyond))).epsilon(1e-3));
      CHECK(said.high[i] == doctest::Approx(std::max(1.0, quantile_of(ratios, 1 - beyond))).epsilon(1e-3));
    }
  }
}

TEST_CASE("communication that nothing can hide takes no less than the least of gTop-k's cells") {
  double least = 1;
  for (const Cell& each : cells())
    if (each.kind == "communication" && each.study == "datasheet_gtopk")
      least = std::min(least, each.measured_s / each.predicted_s);
  CHECK(kSheetLeastCommunication == doctest::Approx(least).epsilon(1e-3));
  // A step that is all communication; one that has computing to hide all of it.
  const SheetStep bare{.exposed_s = 1}, roomy{.computing_s = 9, .exposed_s = 1};
  CHECK(bare.below_s(1) == doctest::Approx(1 - least).epsilon(1e-3));
  CHECK(roomy.less_exposed_s(1, 1) == 1);
}

TEST_CASE("the table's steps are what the program models today") {
  const std::map<std::string, const char*> files = {
      {"P102-100", "p102_100"}, {"V100", "v100"}, {"P100", "p100"}, {"RTX 2080 Ti", "rtx2080ti"}};
  int seen = 0;
  for (const Cell& each : cells()) {
    if (!each.study.starts_with("workloads/")) continue;
    CAPTURE(each.study);
    Json workload = parse_json(read_file(kScenarios + each.study), each.study);
    for (const Json& time : workload["one_device"])
      if (time["device"] == each.name) workload["batch"] = time["batch"];
    for (const char* key : {"one_device", "$schema", "compute_time", "compute_factor"}) workload.erase(key);
    const std::string device = kScenarios + "devices/" + files.at(each.name) + ".json";
    const Job job = job_of({{"cluster",
                             {{"workers", 1},
                              {"device", {{"use", device}, {"memory", 0}}},
                              {"nic", {{"bandwidth", "1 GB/s"}}},
                              {"topology", {{"name", "star"}}}}},
                            {"workload", workload},
                            {"algorithm", {{"name", "allreduce_sgd"}}},
                            {"stop", {{"steps", 1}}}});
    CHECK(job.workload.one_device_step_s == doctest::Approx(each.predicted_s).epsilon(1e-3));
    ++seen;
  }
  CHECK(seen == 9);
}

TEST_CASE("the table's cells of gTop-k are what its study on data sheets gives today") {
  const Study study = expand_study(kScenarios + "studies/datasheet_gtopk.json");
  REQUIRE(study.points.size() == 24);
  const std::string name = "datasheet_gtopk";
  for (const StudyPoint& point : study.points) {
    const Scenario scenario = load_point(study, point);
    const Json& resolved = scenario.resolved;
    const std::string workload = resolved["workload"]["name"], method = resolved["algorithm"]["name"];
    const int workers = resolved["cluster"]["workers"];
    const auto document = run_scenario(scenario, {}).document;
    double communication_s = 0;
    for (const auto& [metric, value] : document.at("metrics").items())
      if (metric == "host_s" || metric == "communication_exposed_s" ||
          metric.ends_with("_communication_hidden_s"))
        communication_s += value.get<double>();
    const auto& metrics = document.at("metrics");
    const std::string cell = fmt::format("{} {} P={}", workload, method, workers);
    CAPTURE(cell);
    CHECK(communication_s == doctest::Approx(predicted(name, cell, "communication")).epsilon(1e-3));
    if (method != "gtopk" || workers != 32) continue;
    CHECK(metrics.at("compute_s").get<double>() ==
          doctest::Approx(predicted(name, workload + " computing P=32", "measured")).epsilon(1e-3));
    CHECK(metrics.value("selection_s", 0.0) ==
          doctest::Approx(predicted(name, workload + " selection", "modelled")).epsilon(1e-3));
  }
}

TEST_CASE("every time of a run where nothing was calibrated has the interval of a data sheet, and a note") {
  Json scenario = small_scenario();
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {{1000, 1000}}}, {"forward_flop", 1e9}}};
  const Json document = run(scenario);
  const Json& metrics = document["metrics"];
  const auto metric = [&](const char* name) { return metrics[name].get<double>(); };
  for (const auto& [name, value] : metrics.items()) {
    CAPTURE(name);
    REQUIRE(document["intervals"].contains(name) == goes_with_time(name));
    if (!goes_with_time(name)) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(end_of(document, name.c_str(), i, "low") <= value.get<double>() * (1 + 1e-12));
      CHECK(end_of(document, name.c_str(), i, "high") >= value.get<double>() * (1 - 1e-12));
    }
  }
  // By hand: modelled computing, communication exposed and hidden, as if their errors knew nothing of each
  // other.
  const double exposed_s = metric("communication_exposed_s") + metric("host_s"),
               hidden_s = metric("gradient_communication_hidden_s"), step_s = metric("iteration_time_mean_s"),
               computing_s = step_s - exposed_s;
  REQUIRE(exposed_s > 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const double above = std::hypot(computing_s * (kSheetModelled.high[i] - 1),
                                    (exposed_s + hidden_s) * (kSheetCommunication.high[i] - 1)),
                 less = std::min(exposed_s * (1 - kSheetCommunication.low[i]),
                                 exposed_s * (1 - kSheetLeastCommunication) + computing_s),
                 below = std::hypot(computing_s * (1 - kSheetModelled.low[i]), less);
    CHECK(end_of(document, "iteration_time_mean_s", i, "high") == doctest::Approx(step_s + above));
    CHECK(end_of(document, "iteration_time_mean_s", i, "low") == doctest::Approx(step_s - below));
    CHECK(end_of(document, "throughput_samples_per_s", i, "low") ==
          doctest::Approx(metric("throughput_samples_per_s") * step_s / (step_s + above)));
    // Computing that is off is off on the one device too: no more than all of it is efficient.
    const double efficiency = metric("scaling_efficiency");
    CHECK(end_of(document, "scaling_efficiency", i, "high") <=
          efficiency * step_s / computing_s * (1 + 1e-12));
    CHECK(end_of(document, "scaling_efficiency", i, "low") ==
          doctest::Approx(efficiency * step_s /
                          (step_s + std::hypot((exposed_s + hidden_s) * (kSheetCommunication.high[i] - 1),
                                               exposed_s * (1 / kSheetModelled.low[i] - 1)))));
    CHECK(end_of(document, "compute_s", i, "high") ==
          doctest::Approx(metric("compute_s") * kSheetModelled.high[i]));
  }
  CHECK(document["notes"].back().get<std::string>().starts_with("this cluster is not calibrated"));
  CHECK_FALSE(run(scenario, 0).contains("intervals"));

  // A step that is nearly all communication: rates stay finite.
  Json idle = scenario;
  idle["workload"]["layers"][0]["forward_flop"] = 0.001;
  for (const auto& [name, levels] : run(idle)["intervals"].items())
    for (const Json& level : levels) {
      CAPTURE(name);
      CHECK(level["low"].is_number());
      CHECK(level["high"].is_number());
    }

  // A step that was measured with this batch is known better; a run that ends by the clock ends then.
  scenario["workload"]["one_device"] = {
      {{"device", "D"}, {"batch", 8}, {"forward_backward", "24 ms"}, {"source", "a test"}}};
  scenario["stop"] = {{"time", "1 s"}};
  const Json measured = run(scenario);
  CHECK(end_of(measured, "compute_s", 1, "high") ==
        doctest::Approx(measured["metrics"]["compute_s"].get<double>() * kSheetMeasured.high[1]));
  const double end_s = measured["metrics"]["simulated_time_s"];
  if (end_s >= 1) CHECK(end_of(measured, "simulated_time_s", 1, "high") == end_s);

  // Measured with twice the batch: 41 % of that step may stay, and then this one takes 1.41 times as long.
  scenario["workload"]["one_device"][0]["batch"] = 16;
  const Json proportional = run(scenario);
  const double compute_s = proportional["metrics"]["compute_s"];
  CHECK(end_of(proportional, "compute_s", 1, "high") ==
        doctest::Approx(compute_s * kSheetMeasured.high[1] * 1.41));
  CHECK(end_of(proportional, "compute_s", 1, "low") == doctest::Approx(compute_s * kSheetMeasured.low[1]));
  CHECK(proportional["notes"].back().get<std::string>().find(
            "0.99 to 2 times as long to compute (scaled from 2 times the batch here)") != std::string::npos);
  // With a quarter: three quarters of what stayed are too much.
  scenario["workload"]["one_device"][0]["batch"] = 2;
  CHECK(end_of(run(scenario), "compute_s", 1, "low") ==
        doctest::Approx(4 * compute_s * 2 * kSheetMeasured.low[1] * (1 - 0.75 * 0.41)));
}

TEST_CASE("times of layers that were measured on another device are as unsure as modelled ones") {
  Json scenario = small_scenario();
  scenario["workload"]["layers"] = {{{"type", "fc"},
                                     {"tensors", {1000}},
                                     {"forward_flop", 1e9},
                                     {"forward", "8 ms"},
                                     {"backward", "16 ms"}}};
  scenario["workload"]["measured_on"] = {{"name", "E"}, {"peak_flops", "2 TFLOPS"}};
  const Json scaled = run(scenario);
  CHECK(end_of(scaled, "compute_s", 1, "high") ==
        doctest::Approx(scaled["metrics"]["compute_s"].get<double>() * kSheetModelled.high[1]));
  scenario["workload"]["measured_on"]["name"] = "D";
  const Json own = run(scenario);
  CHECK(end_of(own, "compute_s", 1, "high") ==
        doctest::Approx(own["metrics"]["compute_s"].get<double>() * kSheetMeasured.high[1]));
}

TEST_CASE(
    "steps in proportion to a batch hold what was 9 to 29 % too short at half of it, and go on as a law does") {
  const SheetRatios half = sheet_in_proportion(2);
  CHECK(1 / (1 - 0.29) < half.high[1] / kSheetMeasured.high[1] * 1.001);
  CHECK(1 / (1 - 0.09) < half.high[0] / kSheetMeasured.high[0]);
  CHECK(sheet_in_proportion(1).high == kSheetMeasured.high);
  for (const double batches : {0.1, 0.5, 3.0, 16.0})
    for (std::size_t i = 0; i < 2; ++i) {
      // A step of `batches` times this batch, of which a share stays: fixed + rest / batches, over 1 /
      // batches
      const double off = (kFixedShare[i] + (1 - kFixedShare[i]) / batches) * batches;
      const SheetRatios ratios = sheet_in_proportion(batches);
      CHECK((batches > 1 ? ratios.high[i] / kSheetMeasured.high[i] : ratios.low[i] / kSheetMeasured.low[i]) ==
            doctest::Approx(off));
    }
}

TEST_CASE("rows of a sweep have the intervals that run gives, and are kept without them") {
  const Folder folder;
  const Json scenario = small_scenario();
  const Json expected = run(scenario)["intervals"];
  REQUIRE(expected.contains("iteration_time_mean_s"));
  const Study study = load_study(folder.write_json("s.json", scenario));
  const auto told = [](const RunRow& row) {
    return Json::parse(row.read().dump()).value("intervals", Json());
  };
  for (const bool documents : {false, true}) {
    CAPTURE(documents);
    SweepSettings settings;
    settings.draws = kUsualDraws;
    settings.documents = documents;
    settings.database = folder.path(documents ? "whole.db" : "brief.db");
    const std::vector<RunRow> rows = sweep_results(study, settings);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].document.find("\"intervals\"") == std::string::npos);
    CHECK(told(rows[0]) == expected);
    const StoredResults stored(settings.database);
    CHECK(Json::parse(stored.intervals(rows[0].key).dump()) == expected);
    settings.database.clear();
    CHECK(told(sweep_results(study, settings).at(0)) == expected);
  }
  SweepSettings without;
  without.database = folder.path("without.db");
  CHECK(told(sweep_results(study, without).at(0)).is_null());
  // The page of a point shows them.
  const Ended shown = run_simsgd({"results", "show", folder.path("brief.db"), "1", "--format", "json"});
  const Json table = Json::parse(shown.out);
  for (const Json& row : table.at("rows"))
    if (row["metric"] == "iteration_time_mean_s")
      CHECK(row["high_90"] == expected["iteration_time_mean_s"][1]["high"]);
  CHECK(shown.out.find("high_90") != std::string::npos);
}

TEST_CASE("exports of all formats have the rows' intervals, and say how many rows have none") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_scenario()));
  const auto exported = [&](const char* file, const char* format) {
    return run_simsgd({"results", "export", folder.path(file), "--format", format});
  };
  for (const int draws : {kUsualDraws, 0}) {
    SweepSettings settings;
    settings.draws = draws;
    settings.database = folder.path(draws > 0 ? "with.db" : "without.db");
    sweep_results(study, settings);
  }
  const auto line = [](const std::string& text, std::size_t number) {
    std::istringstream lines(text);
    std::string found;
    for (std::size_t i = 0; i <= number; ++i) std::getline(lines, found);
    return found;
  };
  const Json point = Json::parse(line(exported("with.db", "json").out, 1));
  const Json widest = point.at("intervals").at("iteration_time_mean_s").at(1);
  CHECK(widest["level"] == 0.9);
  CHECK(widest["low"] < point["metrics"]["iteration_time_mean_s"]);
  const std::string csv = exported("with.db", "csv").out;
  CHECK(line(csv, 0).find(",iteration_time_mean_s_low_90,iteration_time_mean_s_high_90,") !=
        std::string::npos);
  CHECK(line(csv, 1).find("," + widest["low"].dump() + "," + widest["high"].dump() + ",") !=
        std::string::npos);
  for (const char* format : {"text", "md", "latex"})
    CHECK(exported("with.db", format).out.find("in 90") != std::string::npos);
  CHECK(exported("with.db", "csv").err.empty());

  CHECK(Json::parse(line(exported("without.db", "json").out, 1)).at("intervals").is_null());
  CHECK(line(exported("without.db", "csv").out, 0).find("_low_90") == std::string::npos);
  for (const char* format : {"json", "csv"})
    CHECK(
        exported("without.db", format).err ==
        fmt::format(
            "1 result is without intervals: sweep run --draws 0 or an earlier simsgd made it. simsgd sweep run STUDY --force -o {} gives them.\n",
            folder.path("without.db")));
}

TEST_CASE(
    "an operation has the interval of communication that nothing hides, as a run that is nothing else") {
  Json scenario = small_scenario();
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {{1000, 1000}}}, {"forward_flop", 0.001}}};
  const Json document = run(scenario);
  const double exposed_s = document["metrics"]["communication_exposed_s"];
  REQUIRE(exposed_s > 100 * document["metrics"]["compute_s"].get<double>());
  const Folder folder;
  const Scenario cluster = load_scenario(folder.write_json("s.json", scenario));
  BenchSettings settings;
  settings.sizes_bytes = {1e6, 4e6};
  const BenchResult result =
      bench_with_intervals(cluster, settings, {.draws = kUsualDraws, .jobs = 1, .progress = {}});
  for (const BenchRow& row : result.rows) {
    REQUIRE(row.intervals.size() == 2);
    CHECK(row.intervals[1].low == doctest::Approx(kSheetLeastCommunication * row.time_s));
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(row.intervals[i].low / row.time_s ==
            doctest::Approx(end_of(document, "communication_exposed_s", i, "low") / exposed_s).epsilon(0.01));
      CHECK(
          row.intervals[i].high / row.time_s ==
          doctest::Approx(end_of(document, "communication_exposed_s", i, "high") / exposed_s).epsilon(0.01));
    }
  }
  CHECK(result.notes.back().text.starts_with("this cluster is not calibrated"));
  CHECK(bench_with_intervals(cluster, settings, {.draws = 0, .jobs = 1, .progress = {}})
            .rows[0]
            .intervals.empty());
}

TEST_CASE("where operations alone were calibrated, computing is as unsure as a data sheet's") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 5));
  const auto calibration = folder.run();
  Json scenario = small_scenario();
  scenario["cluster"] = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  scenario["cluster"]["workers"] = 4;
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {1000}}, {"forward_flop", 1e10}}};
  const Json document = run(scenario);  // all computing: 0.48 s
  const double step_s = document["metrics"]["iteration_time_mean_s"];
  CHECK(end_of(document, "iteration_time_mean_s", 1, "high") ==
        doctest::Approx(step_s * kSheetModelled.high[1]).epsilon(0.01));
  CHECK(end_of(document, "iteration_time_mean_s", 1, "low") ==
        doctest::Approx(step_s * kSheetModelled.low[1]).epsilon(0.01));
  // What was calibrated stays as it was.
  const double sent_s = document["metrics"]["communication_exposed_s"];
  CHECK(end_of(document, "communication_exposed_s", 1, "high") < 1.3 * sent_s);
}

}  // namespace simsgd::test::calibration_data_sheets

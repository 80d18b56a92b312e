// Calibrations to the `expected` values of studies: each cell is predicted by its own run, every part is left
// out, and what is unknown and discrete stays unknown as long as the cells do not tell.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/ensemble.hpp"
#include "analysis/calibration/solver.hpp"
#include "analysis/calibration/uncertainty.hpp"
#include "analysis/runner.hpp"
#include "sim/engine/simulate.hpp"
#include "support.hpp"

namespace simsgd::test::calibration_expected {

namespace {

using throughput_study::kBatch, throughput_study::kComputeS, throughput_study::kParameters;

struct Truth {
  double bandwidth_Bps = 1.5e9;
  bool ring = true;

  /// Of a step whose all-reduce follows the backward pass, by the textbook: a ring's or recursive doubling's
  /// bytes.
  double throughput(int workers) const {
    const double bytes = 4 * kParameters;
    const double sent = ring ? 2.0 * (workers - 1) / workers * bytes : std::log2(workers) * bytes;
    return workers * kBatch / (kComputeS + sent / bandwidth_Bps);
  }
};

Json study_of(const Truth& truth, const std::vector<int>& workers) {
  Json study = study_of_throughputs(workers, [&truth](int each) { return truth.throughput(each); });
  study["network"] = {{"all_reduce", "ring"}};
  return study;
}

Json spec_of(const Folder& folder, bool unknown_schedule) {
  Json model = {{"name", "m"},
                {"parameters",
                 {{{"name", "bandwidth"},
                   {"pointers", {"/cluster/nic/bandwidth"}},
                   {"low", "0.1 GB/s"},
                   {"high", "10 GB/s"}}}}};
  if (unknown_schedule)
    model["ensemble"] = {{{"name", "schedule"},
                          {"pointer", "/network/all_reduce"},
                          {"values", {"recursive_doubling", "ring"}}}};
  return {{"name", "x"},
          {"data", {{{"expected", {folder.path("study.json")}}, {"beside", folder.path("study.json")}}}},
          {"models", {std::move(model)}},
          {"fit", {{"leave_out", {"workers"}}, {"octaves_equal", false}, {"draws", 20}}}};
}

std::unique_ptr<Calibration> calibrated(const Truth& truth, const std::vector<int>& workers, bool unknown) {
  const Folder folder;
  folder.write_json("study.json", study_of(truth, workers));
  folder.write_json("spec.json", spec_of(folder, unknown));
  return calibrate(load_spec(folder.path("spec.json")), {.data = "", .jobs = 2});
}

}  // namespace

TEST_CASE("cells of a study give back the bandwidth that made them, and predict each other") {
  const Truth truth;
  const auto calibration = calibrated(truth, {2, 4, 8}, false);
  CHECK(calibration->best().values.at(0) == doctest::Approx(truth.bandwidth_Bps).epsilon(1e-4));
  const std::vector<LeftOutColumn> columns = left_out_columns(*calibration);
  REQUIRE(columns.size() == 1);
  CHECK(columns[0].points.size() == 3);
  CHECK(columns[0].mean_error < 1e-3);
  const std::string page = calibration_markdown(*calibration);
  CHECK(page.find("| left out: workers | 3 |") != std::string::npos);
  // On data sheets, 5 GB/s, all are too fast: 0.1 s and bytes.
  REQUIRE(calibration->beside.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Measurement& each = calibration->points.points[i].measurement;
    CHECK(calibration->beside[i] ==
          doctest::Approx(Truth{.bandwidth_Bps = 5e9}.throughput(each.workers)).epsilon(1e-6));
    CHECK(each.value == doctest::Approx(truth.throughput(each.workers)));
  }
}

TEST_CASE(
    "a fit of runs that begins in the wrong one of two valleys ends there; with more starts it does not") {
  // Steps of 0.1 v s and a NIC of v GB/s: 0.1 v + b / v, with b 0.1 among 2 workers and 0.175 among 8. At v =
  // 3 these are 0.333 and 0.358 s, and so they nearly are again about v = 0.1 / 0.3 and 0.175 / 0.3, where
  // the middle of the bounds, 0.55, is; between the valleys, at v = 1 to 1.3, they are 0.2 and 0.26 s.
  constexpr double kV = 3;
  Json study = study_of({}, {2, 8});
  for (Json& each : study["expected"]) {
    const int workers = each["when"]["/cluster/workers"];
    const double sent_GB = 0.1 * 2.0 * (workers - 1) / workers;
    each["value"] = workers * kBatch / (kComputeS * kV + sent_GB / kV);
  }
  const auto fitted = [&study](const std::optional<int>& starts) {
    const Folder folder;
    folder.write_json("study.json", study);
    Json spec = spec_of(folder, false);
    spec["models"][0]["parameters"] = {{{"name", "v"},
                                        {"pointers", {"/workload/step_time", "/cluster/nic/bandwidth"}},
                                        {"factors", {kComputeS, 1e9}},
                                        {"low", 0.05},
                                        {"high", 6}}};
    if (starts) spec["fit"]["starts"] = *starts;
    folder.write_json("spec.json", spec);
    return calibrate(load_spec(folder.path("spec.json")), {.data = "", .jobs = 2})->best().values.at(0);
  };
  CHECK(fitted(8) == doctest::Approx(kV).epsilon(1e-3));
  const double from_the_middle = fitted(std::nullopt);
  CHECK(from_the_middle > 0.3);
  CHECK(from_the_middle < 0.6);
  CHECK(fitted(1) == from_the_middle);
}

TEST_CASE(
    "of a workload unlike the fitted one intervals hold what the model misses there, also where nothing fitted matters") {
  // What is fitted: w, whose measurements are 4 % above and below the truth. What is predicted: v, which
  // sends next to nothing and whose computing takes 15 % longer than its file says.
  const Folder folder;
  const auto judged = [&](const std::string& left_out, const char* fitted_too) {
    Json w = study_of({}, {2, 4, 8, 16}), v = w;
    for (std::size_t i = 0; i < 4; ++i) {
      Json& value = w["expected"][i]["value"];
      value = value.get<double>() * (i % 2 == 0 ? 1.04 : 1 / 1.04);
      v["expected"][i]["value"] = std::exp2(i + 1) * kBatch / (1.15 * kComputeS);
    }
    v["workload"]["name"] = "v";
    v["workload"]["parameters"] = 1000;
    Json u = v;  // as v, and 3 % off
    u["workload"]["name"] = "u";
    for (std::size_t i = 0; i < 4; ++i)
      u["expected"][i]["value"] = std::exp2(i + 1) * kBatch / (1.03 * kComputeS);
    folder.write_json("w.json", w);
    folder.write_json("v.json", v);
    folder.write_json("u.json", u);
    Json spec = spec_of(folder, false);
    spec["data"] = {{{"expected", {folder.path("w.json"), folder.path("v.json"), folder.path("u.json")}}}};
    spec["fit"]["where"] = {{"workload", {"w", fitted_too}}};
    spec["fit"]["leave_out"] = {left_out};
    spec["tests"] = {{{"name", "v"}, {"where", {{"workload", "v"}}}, {"octaves_equal", false}}};
    folder.write_json("spec.json", spec);
    return calibrate(load_spec(folder.path("spec.json")), {.data = "", .jobs = 2});
  };
  const auto one = judged("workers", "w");
  const std::vector<JudgedPoint>& cells = one->tests.at(0).front().points;
  REQUIRE(cells.size() == 4);
  for (const JudgedPoint& each : cells) {
    CHECK(each.error() == doctest::Approx(0.15).epsilon(0.01));
    // No bandwidth moves them: the interval is what other networks were off in other fits, and no more.
    CHECK(each.intervals[1].low == doctest::Approx(each.predicted * std::exp(-0.35)).epsilon(1e-3));
    CHECK(each.intervals[1].high == doctest::Approx(each.predicted * std::exp(0.35)).epsilon(1e-3));
    CHECK(each.intervals[0].low == doctest::Approx(each.predicted * std::exp(-0.1434)).epsilon(1e-3));
  }
  CHECK_FALSE(one->uncertainty.workloads);
  // The reach is that of the left-out cells. Those of a part count as the root of their number.
  const auto reach_of = [](const Calibration& calibration) {
    std::vector<CountedError> errors;
    for (const LeftOut& part : calibration.models[0].left_out)
      for (const double error : part.log_errors)
        errors.push_back({error, 1 / std::sqrt(static_cast<double>(part.log_errors.size()))});
    return reach_of_errors(errors);
  };
  for (std::size_t level = 0; level < 2; ++level)
    CHECK(one->uncertainty.reach[level] == doctest::Approx(reach_of(*one)[level]).epsilon(1e-6));
  for (const JudgedPoint& each : one->fit.points) CHECK(each.intervals.empty());  // it has seen them
  // With two workloads that were left out in turn, what they were off tells how far v's interval reaches.
  const auto two = judged("workload", "u");
  CHECK(two->uncertainty.workloads);
  const Reach reach = reach_of(*two);
  const JudgedPoint& told = two->tests.at(0).front().points.front();
  CHECK(told.intervals[1].high >= told.predicted * std::exp(reach[1]) * (1 - 1e-5));  // a file's six digits
  CHECK(two->uncertainty.reach[1] == doctest::Approx(reach[1]).epsilon(1e-6));
  // The file says all of it.
  const Json file = calibrated_cluster(*one, "", "2026-01-31").at("calibration");
  CHECK(file.at("measured").at("workloads") == Json{"w"});
  CHECK(file.at("measured").at("algorithms") == Json{"local_sgd"});
  CHECK(file.at("left_out").at("nine_tenths").get<double>() ==
        doctest::Approx(one->uncertainty.reach[1]).epsilon(1e-5));
  CHECK(file.at("left_out").at("workloads") == false);
}

TEST_CASE("validate and run give one interval of a tested run") {
  const Folder folder;
  Json study = study_of({}, {2, 4, 8, 16});
  for (std::size_t i = 0; i < 4; ++i) {
    Json& value = study["expected"][i]["value"];
    value = value.get<double>() * (i % 2 == 0 ? 1.03 : 1 / 1.03);
  }
  study["stragglers"] = {{{"name", "lognormal"}, {"mean", "1 ms"}, {"sigma", 0.5}}};  // so that seeds matter
  folder.write_json("study.json", study);
  Json spec = spec_of(folder, false);
  spec["fit"]["where"] = {{"workers", {2, 4, 8}}};
  spec["tests"] = {{{"name", "16"}, {"where", {{"workers", 16}}}}};
  folder.write_json("spec.json", spec);
  const auto calibration = calibrate(load_spec(folder.path("spec.json")), {.data = "", .jobs = 2});
  const JudgedPoint& tested = calibration->tests.at(0).front().points.at(0);
  study.erase("axes");
  study.erase("expected");
  study["cluster"] = calibrated_cluster(*calibration, "", "2026-01-31");
  study["cluster"]["workers"] = 16;
  folder.write_json("s.json", study);
  const auto document =
      run_with_intervals(load_scenario(folder.path("s.json")), {}, {.draws = 20, .jobs = 2, .progress = {}})
          .document;
  std::vector<double> ran;
  for (const auto& each : document.at("intervals").at("throughput_samples_per_s"))
    for (const char* end : {"low", "high"}) ran.push_back(each.at(end).get<double>());
  REQUIRE(ran.size() == 4);
  for (std::size_t level = 0; level < 2; ++level) {
    CHECK(ran[2 * level] == doctest::Approx(tested.intervals.at(level).low).epsilon(1e-9));
    CHECK(ran[2 * level + 1] == doctest::Approx(tested.intervals.at(level).high).epsilon(1e-9));
  }
}

TEST_CASE("an unknown schedule is told apart where it matters, and not where it does not") {
  for (const bool ring : {true, false}) {
    const Truth truth{.ring = ring};
    const auto calibration = calibrated(truth, {2, 4, 8, 16}, true);
    CAPTURE(ring);
    CHECK(calibration->best().member == (ring ? 1 : 0));
    CHECK(calibration->best().weights.at(ring ? 1 : 0) > 0.99);
    CHECK(calibration->best().values.at(0) == doctest::Approx(truth.bandwidth_Bps).epsilon(1e-3));
  }
  // Among two workers both send the same.
  const auto two = calibrated({}, {2}, true);
  CHECK(two->best().weights.at(0) == doctest::Approx(0.5).epsilon(1e-3));
  CHECK(two->best().weights.at(1) == doctest::Approx(0.5).epsilon(1e-3));
}

TEST_CASE("weights of members are their likelihood") {
  // Squares of 1 and 4 over 12 points, 2 parameters: (4 / 1)^(-10 / 2).
  const std::vector<double> weights = member_weights({1, 4}, 12, 2);
  CHECK(weights[1] / weights[0] == doctest::Approx(std::pow(4.0, -5)));
  CHECK(weights[0] + weights[1] == doctest::Approx(1));
  CHECK(member_weights({0, 0, 1}, 5, 1)[0] == doctest::Approx(0.5));
  const double none = std::numeric_limits<double>::infinity();
  CHECK(member_weights({none, 1}, 5, 1)[0] == 0);
  const std::vector<double> mean = ensemble_mean({{1, 10}, {}, {4, 10}}, {0.5, 0, 0.5});
  CHECK(mean[0] == doctest::Approx(2));
  CHECK(mean[1] == doctest::Approx(10));
}

TEST_CASE("the interval of a left-out cell comes from the other parts alone") {
  Calibration calibration;
  calibration.spec.fit.leave_out = {"workers"};
  calibration.models.emplace_back();
  for (std::size_t i = 0; i < 4; ++i) {
    Point& point = calibration.points.points.emplace_back();
    point.measurement.value = 1;
    point.measurement.workers = 1 << i;
  }
  auto& parts = calibration.models[0].left_out;
  parts = {{"workers 1", {0, 1}, {0.01, -0.02}}, {"workers 2", {2}, {0.03}}, {"workers 4", {3}, {0.5}}};
  const LeftOutColumn column = left_out_columns(calibration).at(0);
  // The cell that is far off does not widen its own interval, but that of all others.
  const double one_of_two = 1 / std::sqrt(2.0);
  CHECK(column.points.at(3).high / column.points.at(3).predicted ==
        doctest::Approx(std::exp(reach_of_errors({{0.01, one_of_two}, {-0.02, one_of_two}, {0.03}})[1])));
  CHECK(column.points.at(0).high / column.points.at(0).predicted ==
        doctest::Approx(std::exp(reach_of_errors({{0.03}, {0.5}})[1])));
  CHECK(column.inside == 3);
  CHECK(column.with_interval == 4);
  const auto [low, high] = binomial_interval(9, 10);  // Clopper and Pearson's table: 0.555 to 0.997
  CHECK(low == doctest::Approx(0.555).epsilon(1e-3));
  CHECK(high == doctest::Approx(0.9975).epsilon(1e-3));
  CHECK(binomial_interval(0, 5).first == 0);
  CHECK(binomial_interval(5, 5).second == 1);
}

TEST_CASE("a spec needs files or expected values, and no more members than it can try") {
  const Folder folder;
  folder.write_json("study.json", study_of({}, {2, 4}));
  Json spec = spec_of(folder, true);
  spec["data"][0]["files"] = {"m.csv"};
  folder.write_json("both.json", spec);
  CHECK_THROWS_AS(load_spec(folder.path("both.json")), ConfigError);
  spec = spec_of(folder, true);
  for (int i = 0; i < 5; ++i)
    spec["models"][0]["ensemble"].push_back({{"name", "n"}, {"pointer", "/seed"}, {"count", 100}});
  folder.write_json("many.json", spec);
  CHECK_THROWS_AS(load_spec(folder.path("many.json")), ConfigError);
}

namespace {

/// Bandwidth and the share of a launch before each all-reduce, to be told apart by 12 cells.
struct TwoUnknown {
  static constexpr double kBandwidth_Bps = 2e9, kLaunch_s = 0.02;
  Folder folder;
  Spec spec;

  explicit TwoUnknown(double noise) {
    Json study = study_of({.bandwidth_Bps = kBandwidth_Bps}, {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20});
    Stream stream({.seed = 3, .purpose = Purpose::resampling, .entity = 7, .step = 0});
    for (Json& each : study["expected"]) {
      const double workers = each["when"]["/cluster/workers"].get<double>();
      const double step_s =
          kComputeS + kLaunch_s + 8 * kParameters * (workers - 1) / workers / kBandwidth_Bps;
      each["value"] = workers * kBatch / step_s * std::exp(noise * stream.normal());
    }
    folder.write_json("study.json", study);
    Json json = spec_of(folder, false);
    json["models"][0]["parameters"].push_back(
        {{"name", "launch"}, {"pointers", {"/cluster/host/launch"}}, {"low", "1 us"}, {"high", "1 s"}});
    folder.write_json("spec.json", json);
    spec = load_spec(folder.path("spec.json"));
  }
};

}  // namespace

TEST_CASE("carried slopes end where slopes at every step end") {
  for (const double noise : {0.0, 0.05}) {
    const TwoUnknown two(noise);
    const Points points = make_points(two.spec, two.spec.models[0], load_measurements(two.spec, ""));
    std::vector<std::size_t> all(points.points.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const WeightedPoints what = weigh(points, all, false);
    FitSettings settings{.tolerance = 1e-7, .starts = 1};
    const Predictor at_every_step(points, {.jobs = 2}), carried(points, {.jobs = 2});
    const Fitted exact = fit_parameters(at_every_step, points, two.spec.models[0], what, {}, settings);
    settings.rounds = 4;
    const Fitted fitted = fit_parameters(carried, points, two.spec.models[0], what, {}, settings);
    CAPTURE(noise);
    for (std::size_t j = 0; j < 2; ++j) {
      CHECK(fitted.values[j] == doctest::Approx(exact.values[j]).epsilon(2e-3));
      if (noise == 0)
        CHECK(fitted.values[j] ==
              doctest::Approx(j == 0 ? TwoUnknown::kBandwidth_Bps : TwoUnknown::kLaunch_s).epsilon(1e-3));
    }
    CHECK(fitted.loss <= exact.loss * (1 + 1e-3) + 1e-9);
  }
}

TEST_CASE("slopes of the robust square are those of its root") {
  for (const double r : {-3.0, -0.1, -1e-9, 0.0, 1e-6, 0.05, 0.1, 2.0})
    for (const double outlier : {0.03, 0.1}) {
      const double step = 1e-6;
      CAPTURE(r);
      CHECK(robust_slope(r, outlier) ==
            doctest::Approx((robust_root(r + step, outlier) - robust_root(r - step, outlier)) / (2 * step))
                .epsilon(1e-5));
    }
}

TEST_CASE("nothing is simulated twice, and a run that fails says why") {
  const TwoUnknown two(0);
  const Points points = make_points(two.spec, two.spec.models[0], load_measurements(two.spec, ""));
  const Predictor predictor(points, {.jobs = 2});
  const Patch patch{{"/cluster/nic/bandwidth", 1e9}};
  const std::vector<double> first = predictor.predict(patch, {0, 1, 2});
  CHECK(predictor.memo().metrics.size() == 3);
  CHECK(predictor.memo().recalled == 0);
  const std::vector<std::vector<double>> again = predictor.predict({patch, patch}, {2, 3, 0});
  CHECK(predictor.memo().metrics.size() == 4);
  CHECK(again[0] == std::vector<double>{first[2], again[1][1], first[0]});
  const Patch wrong{{"/network/all_reduce", "no such schedule"}};
  CHECK(std::isnan(predictor.predict(wrong, {0})[0]));
  CHECK(predictor.memo().failure.find("no such schedule") != std::string::npos);
  CHECK(predictor.predict(patch, {0})[0] == first[0]);
}

TEST_CASE("a fit of runs that is interrupted ends at once") {
  const TwoUnknown two(0);
  int asked = 0;
  CalibrationSettings settings;
  settings.interrupted = [&asked] { return ++asked > 40; };
  CHECK_THROWS_AS(calibrate(two.spec, settings), Interrupted);
  CHECK(asked == 41);
}

}  // namespace simsgd::test::calibration_expected

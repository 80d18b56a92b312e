// Runs on a calibrated cluster: every time has an interval, wider beyond what was measured, the same whatever
// the number of jobs; what was changed by hand is not drawn.
#include <doctest/doctest.h>

#include <cmath>

#include "analysis/calibration/uncertainty.hpp"
#include "analysis/collective_bench.hpp"
#include "analysis/data_sheet.hpp"
#include "analysis/runner.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "analysis/widening.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "scenarios/language/study.hpp"
#include "sim/base/random.hpp"
#include "support.hpp"

namespace simsgd::test::calibration_intervals {

namespace {

/// A cluster that was fitted to rings with noise, and a job that does little but communicate.
Json scenario_on(const SpecFolder& folder, int workers) {
  const auto calibration = folder.run();
  Json scenario = small_scenario();
  scenario["cluster"] = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  scenario["cluster"]["workers"] = workers;
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {1000000}}, {"forward_flop", 1000}}};
  return scenario;
}

struct Ran {
  double low = 0, high = 0, value = 0, notes = 0;
};

/// Of iteration_time_mean_s at 90 %; notes that begin with "the cluster was calibrated" or "1 of the
/// cluster's".
Ran run_on(const Json& scenario, int jobs = 1) {
  const Folder folder;
  folder.write_json("s.json", scenario);
  const RunOutcome outcome = run_with_intervals(load_scenario(folder.path("s.json")), {},
                                                {.draws = 20, .jobs = jobs, .progress = {}});
  const auto& document = outcome.document;
  const auto& all = document.at("intervals").at("iteration_time_mean_s");
  double notes = 0;
  for (const auto& note : document.at("notes")) {
    const std::string text = note.get<std::string>();
    notes += text.starts_with("the cluster was calibrated")         ? 1
             : text.find("calibrated numbers") != std::string::npos ? 10
                                                                    : 0;
  }
  CHECK(all.at(0).at("low").get<double>() >= all.at(1).at("low").get<double>());
  CHECK(all.at(0).at("high").get<double>() <= all.at(1).at("high").get<double>());
  return {all.at(1).at("low").get<double>(), all.at(1).at("high").get<double>(),
          document.at("metrics").at("iteration_time_mean_s").get<double>(), notes};
}

}  // namespace

TEST_CASE("a time has an interval around it, and the same one with two jobs") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 5));
  const Json scenario = scenario_on(folder, 4);
  const Ran one = run_on(scenario), two = run_on(scenario, 2);
  CHECK(one.low < one.value);
  CHECK(one.value < one.high);
  CHECK(one.high < 1.5 * one.low);
  CHECK(one.low == two.low);
  CHECK(one.high == two.high);
  CHECK(one.notes == 0);
}

TEST_CASE("beyond the measured numbers of workers intervals are wider, and a note says so") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 5));
  const Ran inside = run_on(scenario_on(folder, 4)), beyond = run_on(scenario_on(folder, 16));
  CHECK(beyond.high / beyond.low - 1 > 1.25 * (inside.high / inside.low - 1));  // 0.3 a doubling
  CHECK(beyond.notes == 1);
}

TEST_CASE("one number of workers says little of others: 5 % per doubling, however well it was fitted") {
  CHECK(doublings_beyond(2, 4, 3) == 0);
  CHECK(doublings_beyond(2, 4, 16) == 2);
  CHECK(doublings_beyond(2, 4, 1) == 1);
  CHECK(doublings_beyond(2, 0, 16) == 0);  // nothing was measured
  Json spec = ring_spec();
  spec["fit"]["where"] = {{"workers", 2}};
  spec["tests"][0]["where"] = {{"workers", 4}};
  const SpecFolder folder(spec, ring_rows({}, 0.005, 5));
  const Ran inside = run_on(scenario_on(folder, 2)), beyond = run_on(scenario_on(folder, 4));
  CHECK(inside.high / inside.low < 1.05);
  CHECK(beyond.high / beyond.low > 1.10);
  const auto calibration = folder.run();
  const JudgedPoint& largest = calibration->tests[0].front().points.back();
  CHECK(largest.intervals[1].high / largest.intervals[1].low > 1.10);
  CHECK(largest.intervals[1].high / largest.intervals[1].low < 1.40);
  // Where bytes count, that is: launch and latency are one number to two workers, and no interval tells so.
  CHECK(largest.intervals[1].low < largest.measured);
  CHECK(largest.measured < largest.intervals[1].high);
}

/// Runs of a point, its own among them: as `sweep plan` counts them, and as they are done.
std::pair<int, int> planned_and_done(const Json& scenario, int draws) {
  const Folder folder;
  folder.write_json("s.json", scenario);
  const Study study = expand_study(folder.path("s.json"), {});
  const Examination seen = examine(study, points_to_examine(study), 1);
  std::size_t all = 1;
  run_with_intervals(load_scenario(folder.path("s.json")), {},
                     {.draws = draws, .jobs = 1, .progress = [&all](std::size_t, std::size_t) { ++all; }});
  return {runs_with_intervals(seen.estimates.at(0).runs_per_draw, draws),
          static_cast<int>(static_cast<double>(all))};
}

TEST_CASE("a sweep's plan counts the runs that are done: twice the draws where seeds matter") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 5));
  Json scenario = scenario_on(folder, 4);
  CHECK(planned_and_done(scenario, 3) == std::pair(4, 4));
  CHECK(planned_and_done(scenario, 1) == std::pair(1, 1));  // of one draw there is no interval
  scenario["stragglers"] = {{{"name", "lognormal"}, {"mean", "1 ms"}, {"sigma", 0.5}}};
  CHECK(planned_and_done(scenario, 3) == std::pair(7, 7));
  scenario["cluster"].erase("calibration");
  CHECK(planned_and_done(scenario, 3) == std::pair(1, 1));
}

TEST_CASE("a number that is another by now is not drawn, and a note says so") {
  const SpecFolder folder(ring_spec(), ring_rows({}, 0.03, 5));
  Json scenario = scenario_on(folder, 4);
  const Ran as_fitted = run_on(scenario);
  scenario["cluster"]["nic"]["bandwidth"] = "50 GB/s";
  const Ran changed = run_on(scenario);
  CHECK(changed.value < as_fitted.value);
  CHECK(changed.high < as_fitted.low);
  CHECK(changed.notes == 10);
}

/// As `bench` has a cluster's file, for so many workers.
Scenario around(const Json& cluster, int workers) {
  const Folder folder;
  folder.write_json("c.json", cluster);
  return load_around_cluster(folder.path("c.json"), workers, {}).scenario;
}

TEST_CASE("a number's interval holds the number; one that every draw leaves at its bound has none") {
  Json spec = ring_spec();
  spec["models"][0]["parameters"][1]["low"] = "50 us";  // in truth 8 us
  const SpecFolder folder(spec, ring_rows({}, 0.03, 5));
  const auto calibration = folder.run();
  std::size_t unknown = 0;
  for (const NumberInterval& each : number_intervals(*calibration, 0.9)) {
    CAPTURE(each.pointer);
    CHECK(each.low <= each.value);
    CHECK(each.high >= each.value);
    CHECK(each.known == (each.low < each.high));
    unknown += each.known ? 0 : 1;
    if (each.pointer.ends_with("/latency")) CHECK_FALSE(each.known);
  }
  const Json cluster = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  for (const Json& each : cluster["calibration"]["parameters"]) unknown -= each.contains("low") ? 0 : 1;
  CHECK(unknown == 0);
}

/// Rings of two, of which a small and a large message tell as many parameters as there are campaigns.
Json exact_spec() {
  Json spec = ring_spec();
  spec["models"][0]["parameters"].erase(1);
  spec["models"][0]["set"] = {{"/cluster/nic/latency", "8 us"}};
  spec["fit"] = {{"where", {{"workers", 2}}}, {"draws", 2000}, {"octaves_equal", false}};
  spec["tests"][0]["where"] = {{"workers", 4}};
  return spec;
}

TEST_CASE(
    "as many parameters as measurements, and no measurement repeated: intervals are those of data sheets") {
  const TrueRing truth;
  std::vector<MeasuredRow> rows;
  for (const double bytes : {1024.0, 0x1p28}) rows.push_back({2, bytes, truth.seconds(2, bytes), "a"});
  // Repeats of what is tested say nothing.
  for (const char* campaign : {"a", "b"}) rows.push_back({4, 2048, truth.seconds(4, 2048), campaign});
  const SpecFolder of_alone(exact_spec(), rows);
  const auto alone = of_alone.run();
  CHECK(alone->uncertainty.resampled == "nothing");
  CHECK_FALSE(alone->noise_known);
  CHECK(alone->warnings.back().starts_with(
      "there are as many parameters as measurements, and no measurement was repeated"));
  const Json cluster = calibrated_cluster(*alone, of_alone.directory(), "2026-01-31");
  CHECK_FALSE(cluster["calibration"].contains("draws"));
  CHECK_FALSE(cluster["calibration"]["parameters"][0].contains("low"));
  Json scenario = small_scenario();
  scenario["cluster"] = cluster;
  scenario["cluster"]["workers"] = 2;
  const Folder folder;
  folder.write_json("s.json", scenario);
  CHECK(follows_from_data_sheets(
      run_with_intervals(load_scenario(folder.path("s.json")), {}, {.draws = 20, .jobs = 1, .progress = {}})
          .document));
  // `validate` and `bench` give the same one.
  BenchSettings settings;
  settings.sizes_bytes = {2048};
  const BenchRow row =
      bench_with_intervals(around(cluster, 4), settings, {.draws = 20, .jobs = 1, .progress = {}}).rows[0];
  REQUIRE(row.intervals.size() == 2);
  REQUIRE(alone->tests[0].front().points.size() == 2);
  for (const JudgedPoint& point : alone->tests[0].front().points) {
    REQUIRE(point.intervals.size() == 2);
    CHECK(point.intervals[1].low == doctest::Approx(row.intervals[1].low).epsilon(1e-4));
    CHECK(point.intervals[1].high == doctest::Approx(row.intervals[1].high).epsilon(1e-4));
  }
}

TEST_CASE("as many parameters as campaigns: what repeats of what is fitted say of noise is the interval") {
  Json spec = exact_spec();
  Json& parameters = spec["models"][0]["parameters"];
  parameters.push_back(
      {{"name", "latency"}, {"pointers", {"/cluster/nic/latency"}}, {"low", "7.9 us"}, {"high", "8.1 us"}});
  spec["models"][0].erase("set");
  const TrueRing truth;
  std::vector<MeasuredRow> rows;
  // Three campaigns 2 % apart: a standard deviation of 2 %.
  for (const auto& [campaign, off] :
       std::vector<std::pair<std::string, double>>{{"a", -0.02}, {"b", 0}, {"c", 0.02}})
    for (const double bytes : {1024.0, 0x1p28})
      rows.push_back({2, bytes, truth.seconds(2, bytes) * std::exp(off), campaign});
  for (const double off : {1.0, 3.0})  // of what is tested: no matter
    rows.push_back({4, 2048, truth.seconds(4, 2048) * off, fmt::format("{}", off)});
  const auto repeated = SpecFolder(spec, rows).run();
  CHECK(repeated->uncertainty.resampled == "noise");
  CHECK(repeated->noise == doctest::Approx(0.02).epsilon(1e-6));
  // Three measurements of the large message tell the bandwidth.
  for (const NumberInterval& each : number_intervals(*repeated, 0.9))
    if (each.pointer.ends_with("bandwidth"))
      CHECK(std::log(each.high / each.low) ==
            doctest::Approx(2 * 1.645 * 0.02 / std::sqrt(3.0)).epsilon(0.08));
}

TEST_CASE("validate and bench give one interval of a tested operation, inside and beyond what was measured") {
  Json spec = ring_spec();
  spec["fit"]["where"]["bytes"] = {{"at_least", 4096}, {"at_most", 1 << 24}};
  spec["tests"] = {{{"name", "8"}, {"where", {{"workers", 8}}}},
                   {{"name", "beyond"}, {"where", {{"workers", 2}, {"bytes", {{"at_least", 1 << 25}}}}}},
                   {{"name", "below"}, {"where", {{"workers", 4}, {"bytes", {{"at_most", 2048}}}}}}};
  const SpecFolder folder(spec, ring_rows({}, 0.03, 5));
  const auto calibration = folder.run();
  const Json cluster = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  for (std::size_t t = 0; t < 3; ++t) {
    const std::vector<JudgedPoint>& points = calibration->tests.at(t).front().points;
    REQUIRE(points.size() > 1);
    BenchSettings settings;
    for (const JudgedPoint& each : points)
      settings.sizes_bytes.push_back(calibration->points.points.at(each.point).bytes());
    const BenchResult result = bench_with_intervals(around(cluster, t == 0   ? 8
                                                                    : t == 1 ? 2
                                                                             : 4),
                                                    settings, {.draws = 20, .jobs = 2, .progress = {}});
    for (std::size_t i = 0; i < points.size(); ++i) {
      CAPTURE(settings.sizes_bytes[i]);
      CHECK(result.rows[i].time_s == doctest::Approx(points[i].predicted).epsilon(1e-5));
      REQUIRE(result.rows[i].intervals.size() == 2);
      for (std::size_t level = 0; level < 2; ++level) {
        CHECK(result.rows[i].intervals[level].low ==
              doctest::Approx(points[i].intervals.at(level).low).epsilon(1e-9));
        CHECK(result.rows[i].intervals[level].high ==
              doctest::Approx(points[i].intervals.at(level).high).epsilon(1e-9));
      }
    }
    CHECK(nccl_table(settings, make_cluster(around(cluster, 2)).cluster, result).find(" B: 90 % between ") !=
          std::string::npos);
    settings.sizes_bytes.resize(1);
    CHECK(bench_with_intervals(around(cluster, 2), settings, {.draws = 0, .jobs = 1, .progress = {}})
              .rows[0]
              .intervals.empty());
  }
}

TEST_CASE(
    "what is tested does not make its own intervals wider, however often and differently it was measured") {
  const std::vector<MeasuredRow> rows = ring_rows({}, 0.03, 5);
  std::vector<MeasuredRow> repeated = rows;
  for (MeasuredRow row : rows)
    if (row.workers == 8) {
      row.campaign = "b";
      row.seconds *= 2;
      repeated.push_back(row);
    }
  const auto once = SpecFolder(ring_spec(), rows).run(), twice = SpecFolder(ring_spec(), repeated).run();
  const auto& points = once->tests[0].front().points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].intervals[1].low == twice->tests[0].front().points[i].intervals[1].low);
    CHECK(points[i].intervals[1].high == twice->tests[0].front().points[i].intervals[1].high);
  }
}

// How far off a further prediction is, from few errors: by an independent sum over scales, by drawn errors of
// a known scale, and where one error is far out.

namespace {

double drawn(Stream& stream, double scale) {
  const double u = stream.uniform();
  return scale * (2 * u - 1) / std::sqrt(2 * u * (1 - u));
}

std::vector<CountedError> counted(const std::vector<double>& errors) {
  std::vector<CountedError> all;
  for (const double each : errors) all.push_back({each});
  return all;
}

}  // namespace

TEST_CASE("of errors of one unknown scale half and nine tenths are held, however few there are") {
  for (const std::size_t count : {2UL, 5UL, 20UL}) {
    constexpr int kTrials = 1000;
    int half = 0, most = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Stream stream({.seed = 7,
                     .purpose = Purpose::resampling,
                     .entity = static_cast<std::uint32_t>(count),
                     .step = static_cast<std::uint64_t>(trial)});
      std::vector<double> errors;
      for (std::size_t i = 0; i < count; ++i) errors.push_back(drawn(stream, 0.03));
      const Reach reach = reach_of_errors(counted(errors));
      const double next = std::fabs(drawn(stream, 0.03));
      half += next <= reach[0] ? 1 : 0;
      most += next <= reach[1] ? 1 : 0;
    }
    CAPTURE(count);
    CHECK(half / double{kTrials} == doctest::Approx(0.5).epsilon(0.08));
    CHECK(most / double{kTrials} == doctest::Approx(0.9).epsilon(0.03));
  }
}

TEST_CASE("one error that is far out does not decide alone, and counts are repeats") {
  const Reach without = reach_of_errors(counted({0.01, 0.02, 0.03, 0.01, 0.02, 0.03, 0.01, 0.02, 0.03})),
              with = reach_of_errors(counted({0.01, 0.02, 0.03, 0.01, 0.02, 0.03, 0.01, 0.02, 0.6}));
  CHECK(with[1] < 2 * without[1]);
  CHECK(with[1] > without[1]);
  CHECK(reach_of_errors({{0.01, 3}, {0.02, 3}, {0.03, 3}})[1] == doctest::Approx(without[1]));
  CHECK(reach_of_errors({}) == Reach{});
  CHECK(reach_of_errors(counted({0, 0})) == Reach{});
  CHECK(reach_of_errors(counted({0.02}))[1] > 5 * reach_of_errors(counted({0.02}))[0]);
}

TEST_CASE("errors that grow with what goes with time are the factor's, others are not") {
  Stream stream({.seed = 8, .purpose = Purpose::resampling, .entity = 0, .step = 0});
  std::vector<CountedError> growing, flat;
  for (int i = 0; i < 60; ++i) {
    const double slope = 0.05 + 0.95 * (i % 6) / 5.0;
    growing.push_back({drawn(stream, 0.03 * slope), 1, slope});
    flat.push_back({drawn(stream, 0.03), 1, slope});
  }
  CHECK(share_with_slopes(growing) > 0.7);
  CHECK(share_with_slopes(flat) < 0.3);
  for (CountedError& each : growing) each.slope = 1;
  CHECK(share_with_slopes(growing) == 0);  // nothing tells them apart
}

}  // namespace simsgd::test::calibration_intervals

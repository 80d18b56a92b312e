// `simsgd results` on stores made by hand: what tables say, what they refuse, and what they do not leave out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/runs/results.hpp"
#include "analysis/statistics/contest.hpp"
#include "analysis/statistics/intervals.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_results_verb {

namespace {

// What a run gives: its time to the target; none: not within 100 s.
struct Outcome {
  std::optional<double> time_s;
  bool fails = false;
};
using OutcomeOf = std::function<Outcome(bool d_psgd, int workers, std::size_t seed)>;

// A study of all-reduce and D-PSGD over workers and seeds, whose runs give what `outcome_of` says.
void put_study(const std::string& file, const std::string& name, const std::vector<int>& workers, int seeds,
               const OutcomeOf& outcome_of) {
  const Folder folder;
  Json study = small_scenario();
  study["name"] = name;
  study["learner"] = small_learner();
  study["target"] = {{"metric", "train_loss"}, {"value", 0.1}};
  study["axes"] = {{{"pointer", "/algorithm/name"}, {"values", {"allreduce_sgd", "d_psgd"}}},
                   {{"pointer", "/cluster/workers"}, {"values", workers}}};
  study["seeds"] = seeds;
  SweepSettings settings;
  settings.database = file;
  settings.run = [&](const Scenario& scenario, const SimulationOptions&) {
    const Json& resolved = scenario.resolved;
    const Outcome given = outcome_of(resolved["algorithm"]["name"] == "d_psgd",
                                     resolved["cluster"]["workers"], resolved["seed"]);
    if (given.fails) throw RunError("Out of memory.");
    RunOutcome outcome = made_outcome(scenario);
    outcome.document["metrics"] = {
        {"throughput_samples_per_s", 1000 * resolved["cluster"]["workers"].get<double>()},
        {"simulated_time_s", given.time_s.value_or(100)}};
    if (given.time_s) outcome.document["metrics"]["time_to_target_s"] = *given.time_s;
    return outcome;
  };
  sweep_results(load_study(folder.write_json(name + ".json", study)), settings);
}

// Both meet the same stragglers. At 4 workers D-PSGD takes 10 s less of times that differ by 50 s from seed
// to seed; at 8 it is level; at 16 it often misses, and once fails. One file for all tests that only look.
const std::string& two_algorithms() {
  static const Folder folder;
  static const std::string file = [] {
    put_study(folder.path("s.db"), "made", {4, 8, 16}, 3,
              [](bool d_psgd, int workers, std::size_t seed) -> Outcome {
                const double luck = std::vector<double>{10, 60, 35}[seed - 1];
                const double advantage = std::vector<double>{-9.5, -10, -10.5}[seed - 1],
                             level = seed == 2 ? 2 : -1;
                if (workers == 4) return {30 + luck + (d_psgd ? advantage : 0)};
                if (workers == 8) return {20 + luck + (d_psgd ? level : 0)};
                if (!d_psgd) return {seed == 3 ? std::nullopt : std::optional(40 + luck)};
                return {seed == 1 ? std::optional(50.0) : std::nullopt, seed == 3};
              });
    return folder.path("s.db");
  }();
  return file;
}

Ended results(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "results");
  return run_simsgd(arguments);
}

// What is said of a file, by its name alone.
std::string error_of(const std::vector<std::string>& arguments) {
  const Ended ended = results(arguments);
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  const std::string folder = std::filesystem::path(arguments[1]).parent_path().string() + "/";
  std::string said = ended.err;
  for (std::size_t at = said.find(folder); at != std::string::npos; at = said.find(folder))
    said.erase(at, folder.size());
  return said;
}

OrderedJson row_of(const Ended& ended, const std::string& algorithm, int workers) {
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const OrderedJson json = OrderedJson::parse(ended.out);
  for (const OrderedJson& row : json.at("rows"))
    if (row.at("algorithm") == algorithm && row.at("cluster/workers") == workers) return row;
  return {};
}

}  // namespace

TEST_CASE("a table over seeds: means with intervals, ties, censored and failed runs by name") {
  const std::string& file = two_algorithms();
  const Ended ended =
      results({"table", file, "--rows", "workers", "--columns", "algorithm", "--metric", "time_to_target_s"});
  CHECK(ended.err == "");
  CHECK(ended.out ==
        R"(time_to_target_s (s) of made: mean ± half width of Student's 95 % interval over 3 seeds

cluster/workers                           allreduce_sgd                                           d_psgd
--------------------------------------------------------------------------------------------------------
4                                         65.0 ± 62.1                                      55.0 ± 61.5 *
8                                         55.0 ± 62.1 *                                    55.0 ± 65.9 =
16               ≥ 83.3 [11.6, 100.0] (2 of 3 arrive) =  ≥ 75.0 [0.0, 100.0] (1 of 2 arrive, 1 failed) *

* best; = tie with it: the paired difference is not significant after Holm's correction
Times are compared up to tau = 100.0 s, the earliest end of a cell whose last run missed the target. >: no run reaches the target by then; ≥: mean of min(T, tau) (Kaplan-Meier)
1 of 18 runs failed and are not counted: algorithm=d_psgd, cluster/workers=16, seed=3: Out of memory
)");
}

TEST_CASE("where a row first reaches a value: a column of the table for each, and none where it never does") {
  const std::string& file = two_algorithms();
  // allreduce_sgd takes 65, 55 and 83.3 s, d_psgd 55, 55 and 75.
  const Ended ended = results({"table", file, "--rows", "algorithm", "--columns", "workers", "--metric",
                               "time_to_target_s", "--reaches", "60,20", "--format", "csv"});
  CHECK(ended.err == "");
  CHECK(ended.out ==
        "algorithm,metric,reaches,cluster/workers\n"
        "allreduce_sgd,time_to_target_s,60.0,8\n"
        "allreduce_sgd,time_to_target_s,20.0,\n"
        "d_psgd,time_to_target_s,60.0,4\n"
        "d_psgd,time_to_target_s,20.0,\n");
  const Ended text = results({"table", file, "--rows", "algorithm", "--columns", "workers", "--metric",
                              "time_to_target_s", "--reaches", "60,20"});
  CHECK(text.out.starts_with(
      "made: the first cluster/workers at which time_to_target_s is at most the value of the column\n"));
  CHECK(text.out.find("allreduce_sgd   8  none\n") != std::string::npos);
  CHECK(
      error_of({"table", file, "--metric", "time_to_target_s", "--reaches", "60"}) ==
      "--reaches: needs one axis in --columns, and one metric that is better when higher or when lower. Write, for example, --columns workers --metric scaling_efficiency --reaches 0.9.\n");
}

TEST_CASE("a comparison by seed sees a difference that times of single seeds hide") {
  const std::string& file = two_algorithms();
  const Ended ended = results(
      {"compare", file, "--by", "algorithm", "--baseline", "allreduce_sgd", "--metric", "time_to_target_s"});
  CHECK(ended.err == "");
  CHECK(ended.out ==
        R"(made: time_to_target_s against algorithm = allreduce_sgd, paired by seed, 95 % intervals

cluster/workers  algorithm  pairs  baseline (s)  value (s)  difference (s)              speed-up  p (Holm)          verdict
---------------------------------------------------------------------------------------------------------------------------
4                d_psgd         3          65.0       55.0     -10.0 ± 1.2  1.207 [0.996, 1.463]    0.0025           faster
8                d_psgd         3          55.0       55.0       0.0 ± 4.3  1.009 [0.936, 1.088]    1.0000              tie
16               d_psgd         2          75.0     ≥ 75.0             0.0                 1.000    1.0000  tie until 100.0

tie: the difference is not significant after Holm's correction over the rows
until: tau, the earliest end of a cell whose last run missed the target; times are compared up to there (restricted means)
1 of 18 runs failed and are not counted: algorithm=d_psgd, cluster/workers=16, seed=3: Out of memory
)");
}

TEST_CASE("JSON and CSV have SI numbers, the same as each other, and what the text leaves out") {
  const std::string& file = two_algorithms();
  const std::vector<std::string> asked = {"table", file, "--metric", "time_to_target_s", "--format"};
  const auto with = [&](const std::string& format) {
    std::vector<std::string> arguments = asked;
    arguments.push_back(format);
    return results(arguments);
  };
  const OrderedJson four = row_of(with("json"), "allreduce_sgd", 4),
                    often = row_of(with("json"), "allreduce_sgd", 16),
                    seldom = row_of(with("json"), "d_psgd", 16);
  // 40, 90, 65: mean 65, s = 25, t(0.975, 2) = 4.302653; 25 x 4.302653 / sqrt(3) = 62.1035.
  CHECK(four["value"] == 65.0);
  CHECK(four["high"].get<double>() == doctest::Approx(65 + 62.10343).epsilon(1e-6));
  CHECK(four["method"] == "Student");
  // 50, 100 and more than 100: the mean up to 100 is 250 / 3, of all times more.
  CHECK(often["statistic"] == "restricted mean");
  CHECK(often["value"].get<double>() == doctest::Approx(250.0 / 3));
  CHECK(often["censored"] == 1);
  CHECK(often["until"] == 100.0);
  // One of two that ended arrived, which is half; the third failed.
  CHECK(seldom["failed"] == 1);
  CHECK(seldom["n"] == 2);
  const std::string csv = with("csv").out;
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  CHECK(csv.starts_with("algorithm,cluster/workers,metric,unit,statistic,value,low,high,method,n,censored,"));
  CHECK(csv.find("\nallreduce_sgd,4,time_to_target_s,s,mean,65.0,") != std::string::npos);
  CHECK(with("md").out.find("\n|---|---|--:|\n") != std::string::npos);
}

TEST_CASE("speed-up and efficiency over workers: twice the throughput of twice the workers is 100 %") {
  const std::string& file = two_algorithms();
  const Ended ended =
      results({"compare", file, "--by", "workers", "--baseline", "4", "--metric", "throughput_samples_per_s",
               "--where", "algorithm=allreduce_sgd", "--format", "json"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const OrderedJson rows = OrderedJson::parse(ended.out)["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[1]["cluster/workers"] == 16);
  CHECK(rows[1]["speed_up"].get<double>() == doctest::Approx(4));
  CHECK(rows[1]["efficiency"].get<double>() == doctest::Approx(1));
  CHECK(rows[1]["verdict"] == "faster");
  CHECK(rows[1]["difference"] == 12000.0);
}

TEST_CASE("what is asked for and not there is named, all of it, with what there is") {
  const std::string& file = two_algorithms();
  CHECK(
      error_of({"table", file, "--rows", "algoritm", "--columns", "share", "--metric", "time_to_traget_s"}) ==
      R"(--columns: is not an axis of made. Found: share. Choose algorithm or cluster/workers.
--rows: is not an axis of made. Found: algoritm. Did you mean algorithm? Choose algorithm or cluster/workers.
--metric: is not a metric. Found: time_to_traget_s. Did you mean time_to_target_s? Choose throughput_samples_per_s, time_to_target_s or simulated_time_s.
3 errors; nothing was run or written.
)");
  CHECK(
      error_of({"compare", file, "--by", "algorithm", "--baseline", "alreduce_sgd", "--metric",
                "staleness_mean"}) ==
      R"(--baseline: is not a value of algorithm. Found: alreduce_sgd. Did you mean allreduce_sgd? Choose allreduce_sgd or d_psgd.
--metric: is a metric that no run of made has. Found: staleness_mean. Choose throughput_samples_per_s, time_to_target_s or simulated_time_s.
2 errors; nothing was run or written.
)");
  CHECK(
      error_of({"table", file, "--rows", "workers", "--metric", "time_to_target_s"}) ==
      R"(--rows: algorithm varies within cells, which are means over seeds only. Add it to --rows or --columns, or choose a value with --where algorithm=VALUE.
)");
  CHECK(error_of({"table", file, "--where", "workers=32", "--where", "algorithm", "--metric", "time"}) ==
        R"(--where: is not a value of cluster/workers. Found: 32. Choose 4, 8 or 16.
--where: is not a filter. Found: algorithm. Write axis=value, such as workers=64.
--metric: is not a metric. Found: time. Choose throughput_samples_per_s, time_to_target_s or simulated_time_s.
3 errors; nothing was run or written.
)");
  CHECK(
      error_of({"table", file, "--metric", "test_acuracy@1 parsec"}) ==
      R"(--metric: is not a curve. Found: test_acuracy. Did you mean test_accuracy? Choose train_loss, test_loss, test_accuracy or consensus_distance.
--metric: is not a simulated time above 0. Found: 1 parsec. Write test_acuracy@60s, or test_acuracy@mean for its mean.
2 errors; nothing was run or written.
)");
  CHECK(error_of({"show", file, "19"}) ==
        R"(POINT: is not a point of made. Found: 19. Write a number from 1 to 18, as simsgd sweep plan counts.
)");
  const Folder folder;
  CHECK(error_of({"list", folder.path("none.db")}) ==
        R"(none.db: does not exist. Name a file that simsgd sweep run -o made.
)");
  CHECK(error_of({"list", folder.write("foreign.db", "SQLite has another format")})
            .starts_with("foreign.db: cannot be used as a result file"));
}

TEST_CASE("a file with several studies asks which") {
  const Folder folder;
  const std::string file = folder.path("s.db");
  put_study(file, "first", {4}, 1, [](auto...) { return Outcome{10.0}; });
  put_study(file, "second", {4}, 1, [](auto...) { return Outcome{20.0}; });
  CHECK(error_of({"table", file, "--metric", "time_to_target_s"}) ==
        "s.db: holds 2 studies. Name one with --study: first or second.\n");
  CHECK(error_of({"table", file, "--metric", "time_to_target_s", "--study", "frist"}) ==
        "--study: is not a study of s.db. Found: frist. Did you mean first? Choose first or second.\n");
  const Ended ended =
      results({"table", file, "--metric", "time_to_target_s", "--study", "second", "--format", "csv"});
  CHECK(ended.out.find("20.0") != std::string::npos);
  const Ended listed = results({"list", file, "--format", "json"});
  CHECK(OrderedJson::parse(listed.out)["rows"][1]["done"] == 2);
}

TEST_CASE("one seed, no target, only failures: a clear sentence, and no verdict from nothing") {
  const Folder folder;
  const std::string one = folder.path("one.db"), none = folder.path("none.db");
  put_study(one, "one", {4}, 1, [](bool d_psgd, int, std::size_t) { return Outcome{d_psgd ? 5.0 : 10.0}; });
  const Ended table = results({"table", one, "--metric", "time_to_target_s"});
  CHECK(table.code == 0);
  CHECK(table.out.find("one run each, so no interval") != std::string::npos);
  CHECK(table.out.find("±") == std::string::npos);
  const Ended compared = results(
      {"compare", one, "--by", "algorithm", "--baseline", "allreduce_sgd", "--metric", "time_to_target_s"});
  CHECK(compared.out.find("one seed") != std::string::npos);
  put_study(none, "none", {4}, 1, [](auto...) { return Outcome{{}, true}; });
  for (const std::string metric : {"time_to_target_s", "simulated_time_s"}) {
    const Ended failed = results({"table", none, "--metric", metric});
    CHECK(failed.code == 1);
    CHECK(failed.out == "");
    CHECK(
        failed.err ==
        R"(No point of none has a result. 2 of 2 runs failed and are not counted: algorithm=allreduce_sgd, cluster/workers=4, seed=1: Out of memory; algorithm=d_psgd, cluster/workers=4, seed=1: Out of memory.
)");
  }
  CHECK(results({"show", none, "1"}).code == 0);
  CHECK(results({"list", none}).code == 0);
}

TEST_CASE("where nobody arrives it is above what was seen, for all that, and no tie") {
  const Folder folder;
  const std::string file = folder.path("s.db");
  put_study(file, "never", {4}, 2, [](auto...) { return Outcome{}; });
  const Ended table = results({"table", file, "--rows", "algorithm", "--metric", "time_to_target_s"});
  CAPTURE(table.err);
  CHECK(table.out.find("> 100.0 (0 of 2 arrive)") != std::string::npos);
  const Ended compared = results({"compare", file, "--by", "algorithm", "--baseline", "allreduce_sgd",
                                  "--metric", "time_to_target_s", "--format", "json"});
  CHECK(OrderedJson::parse(compared.out)["rows"][0]["verdict"] == "nobody arrives");
}

TEST_CASE("seeds meet the same stragglers: paired intervals are a fraction of unpaired ones") {
  const Folder folder;
  Json study = Json::parse(R"({
    "name": "stragglers", "cluster": {"use": "clusters/ethernet-10g.json", "workers": 8},
    "workload": {"use": "workloads/resnet50.json", "batch": 32}, "learner": null,
    "algorithm": {"name": "allreduce_sgd"}, "stragglers": [{"name": "lognormal", "mean": "100 ms", "sigma": 1}],
    "network": {"fidelity": "closed"}, "stop": {"steps": 30}, "record": {"timeline_events": 0}, "seeds": 10,
    "axes": [{"pointer": "/algorithm", "values": [{"name": "allreduce_sgd"}, {"name": "d_psgd"}]}]})");
  for (const char* part : {"cluster", "workload"})
    study[part]["use"] = SIMSGD_SOURCE_DIR "/scenarios/" + study[part]["use"].get<std::string>();
  const std::string file = folder.path("s.db");
  const Ended ran =
      run_simsgd({"sweep", "run", folder.write_json("study.json", study), "-o", file, "--jobs", "2"});
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  std::map<std::string, std::vector<double>> times;
  const StoredResults stored(file);
  for (const ResultPoint& point : stored.studies().front().points)
    times[point.coordinates.front().label].push_back(point.metrics.at("iteration_time_mean_s"));
  const std::vector<double>&baseline = times.at("allreduce_sgd"), &values = times.at("d_psgd");
  REQUIRE(baseline.size() == 10);
  std::vector<statistics::Pair> pairs;
  for (std::size_t i = 0; i < values.size(); ++i)
    pairs.push_back({.baseline = baseline[i], .value = values[i]});
  const double paired = statistics::paired_difference(pairs).interval->half_width();
  // As if the seeds had nothing in common: Welch, Biometrika 34 (1947) 28.
  const auto square_error = [](const std::vector<double>& each) {
    const double deviation = statistics::standard_deviation(each);
    return deviation * deviation / 10;
  };
  const double a = square_error(baseline), b = square_error(values);
  const double unpaired =
      statistics::student_quantile(0.975, 9 * (a + b) * (a + b) / (a * a + b * b)) * std::sqrt(a + b);
  MESSAGE("half widths of D-PSGD's difference from all-reduce, 10 seeds: paired ", 1e3 * paired,
          " ms, unpaired ", 1e3 * unpaired, " ms: ", paired / unpaired);
  CHECK(paired < 0.8 * unpaired);
}

}  // namespace simsgd::test::analysis_results_verb

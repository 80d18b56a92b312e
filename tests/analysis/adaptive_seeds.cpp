// Seeds until certain, a limit on memory, and times estimated before a sweep.
#include "analysis/runs/sweep.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/results.hpp"
#include "analysis/runs/sweep_status.hpp"
#include "analysis/statistics/intervals.hpp"
#include "sim/base/random.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_adaptive_seeds {

namespace {

SeedRule rule_of(int at_least, int at_most, double half_width) {
  return {at_least, at_most, "throughput_samples_per_s", half_width};
}

using Values = std::vector<std::optional<double>>;

int asked_one_by_one(const SeedRule& rule, const Values& all) {
  Values seen;
  while (seeds_needed(rule, seen) > static_cast<int>(seen.size())) seen.push_back(all.at(seen.size()));
  return static_cast<int>(seen.size());
}

Json adaptive_study(double half_width) {
  Json study = small_study({2, 3, 4});
  study["seeds"] = {{"at_least", 3},
                    {"at_most", 14},
                    {"until", {{"metric", "throughput_samples_per_s"}, {"half_width", half_width}}}};
  return study;
}

/// Exact with 2 workers, noisy with 3; with 4 the second seed fails.
RunOutcome noisy(const Scenario& scenario, const SimulationOptions&) {
  const int workers = scenario.resolved["cluster"]["workers"], seed = scenario.resolved["seed"];
  if (workers == 4 && seed == 2) throw RunError("Deadlock.");
  RunOutcome made = made_outcome(scenario);
  made.document["metrics"]["throughput_samples_per_s"] = workers == 3 ? 100 + 10 * (seed % 3) : 50;
  return made;
}

std::map<int, std::set<int>> seeds_run(const std::vector<RunRow>& runs) {
  std::map<int, std::set<int>> seeds;
  for (const RunRow& run : runs) {
    const Json scenario = Json::parse(run.document)["scenario"];
    seeds[scenario["cluster"]["workers"]].insert(scenario["seed"].get<int>());
  }
  return seeds;
}

}  // namespace

TEST_CASE("seeds end as soon as the interval is narrow enough, by hand") {
  // 9, 10, 11: s = 1, t(2) = 4.303, half-width 4.303 / sqrt(3) = 2.484, 24.84 % of the mean.
  CHECK(seeds_needed(rule_of(3, 40, 0.2485), {9, 10, 11}) == 3);
  CHECK(seeds_needed(rule_of(3, 40, 0.2483), {9, 10, 11}) == 4);
  CHECK(seeds_needed(rule_of(3, 40, 0.05), {}) == 3);
  CHECK(seeds_needed(rule_of(3, 40, 0.05), {10, 10, 10}) == 3);
  CHECK(seeds_needed(rule_of(3, 3, 0.001), {9, 10, 11}) == 3);
  // Looks after 5, 6, 7, 8, 10, 12, 15, 18, 22, ...: a quarter more each time.
  const Values wild = {1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9};
  CHECK(seeds_needed(rule_of(5, 40, 0.01), {wild.begin(), wild.begin() + 8}) == 10);
  CHECK(seeds_needed(rule_of(5, 40, 0.01), wild) == 15);
  CHECK(seeds_needed(rule_of(5, 13, 0.01), wild) == 13);
}

TEST_CASE("a seed without a value keeps its cell going; a cell without any value stops at once") {
  CHECK(seeds_needed(rule_of(3, 40, 0.5), {10, std::nullopt, 10}) == 4);
  CHECK(asked_one_by_one(rule_of(3, 9, 0.5), {10, std::nullopt, 10, 10, 10, 10, 10, 10, 10}) == 9);
  CHECK(seeds_needed(rule_of(3, 40, 0.5), {std::nullopt, std::nullopt, std::nullopt}) == 3);
}

TEST_CASE(
    "how many seeds run depends on the lower ones alone, and the interval holds nearly as often as it says") {
  // 500 cells of normal draws, mean 100, deviation 10: 5 % needs about 18 of them. Stopping when it looks
  // good costs coverage: 95 % nominal, and not below 90 %.
  int covered = 0, within = 0;
  double total = 0;
  for (std::uint64_t cell = 0; cell < 500; ++cell) {
    Stream stream({cell, Purpose::algorithm, 3, 0});
    Values all;
    for (int i = 0; i < 40; ++i) all.emplace_back(100 + 10 * stream.normal());
    const int count = asked_one_by_one(rule_of(5, 40, 0.05), all);
    CHECK(seeds_needed(rule_of(5, 40, 0.05), all) == count);
    std::vector<double> run;
    for (int i = 0; i < count; ++i) run.push_back(all[static_cast<std::size_t>(i)].value());
    const statistics::Estimate mean = statistics::student_mean(run);
    covered += mean.interval->holds(100) ? 1 : 0;
    within += std::fabs(mean.value - 100) <= 0.05 * mean.value ? 1 : 0;
    total += count;
  }
  MESSAGE("the interval holds in ", covered / 5.0, " % of 500 cells, 5 % around the mean in ", within / 5.0,
          " %, after ", total / 500, " seeds on average");
  CHECK(covered >= 450);
  CHECK(within >= 465);
  CHECK(total / 500 > 10);
  CHECK(total / 500 < 25);
}

TEST_CASE("a sweep runs the seeds that are needed, the same for any --jobs, shards, and after a kill") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", adaptive_study(0.05)));
  SweepSettings settings;
  settings.run = noisy;
  const std::vector<RunRow> runs = sweep_results(study, settings);
  const auto seeds = seeds_run(runs);
  CHECK(seeds.at(2) == std::set<int>{1, 2, 3});
  // s = 8.2 to 10 around 110: 6.3 % after 8 seeds, 5.3 % after 10, 4.9 % after 12.
  CHECK(seeds.at(3).size() == 12);
  CHECK(seeds.at(4).size() == 14);  // a seed failed: certain of nothing
  settings.jobs = 3;
  CHECK(seeds_run(sweep_results(study, settings)) == seeds);
  settings.database = folder.path("r.db");
  settings.shard = {1, 2};
  CHECK(sweep_results(study, settings).size() == 17);
  // Killed: the second part stops after a few runs.
  settings.shard = {2, 2};
  int asked = 0;
  settings.interrupted = [&asked] { return ++asked > 1; };
  CHECK_THROWS_AS(sweep_results(study, settings), Interrupted);
  settings.interrupted = {};
  settings.shard = {};
  CHECK(seeds_run(sweep_results(study, settings)) == seeds);
  const StoredResults results(folder.path("r.db"));
  REQUIRE(results.studies().size() == 1);
  CHECK(results.studies()[0].points.size() == 29);  // and not the 13 that were not needed
}

TEST_CASE("a point that needs more memory than allowed fails with a sentence, others go on") {
  std::vector<ChildEnd> ends(2);
  run_in_children(
      2, {.jobs = 1, .timeout_s = 20, .memory_bytes = 300e6, .interrupted = {}, .tick = {}},
      [](std::size_t i) {
        std::vector<char> memory(i == 0 ? 600'000'000 : 1000);
        std::memset(memory.data(), 1, memory.size());
        if (i == 0)
          for (;;) pause();
        return std::string("done");
      },
      [&ends](std::size_t i, const ChildEnd& end) { ends[i] = end; });
  CHECK(ends[0].kind == ChildEnd::Kind::too_large);
  CHECK(ends[0].text == "needed more than the 300 MB of memory that --memory allows");
  CHECK(ends[1].text == "done");
}

TEST_CASE("points in order, each to the first child that is free") {
  CHECK(wall_of_all_s({3, 1, 1, 1}, 2) == 3);
  CHECK(wall_of_all_s({3, 1, 1, 1}, 1) == 6);
  CHECK(wall_of_all_s({}, 2) == 0);
}

}  // namespace simsgd::test::analysis_adaptive_seeds

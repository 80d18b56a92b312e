#include "analysis/runs/sweep.hpp"

#include <doctest/doctest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>

#include "analysis/runs/store.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_sweep {

namespace {

int workers_of(const Scenario& scenario) { return scenario.resolved["cluster"]["workers"].get<int>(); }

std::vector<double> throughputs(const std::vector<RunRow>& runs) {
  std::vector<double> values;
  for (const RunRow& run : runs)
    values.push_back(run.status == RunStatus::ok ? run.metrics.at("throughput_samples_per_s") : -1);
  return values;
}

RunOutcome quick(const Scenario& scenario, const SimulationOptions&) { return made_outcome(scenario); }
RunOutcome never(const Scenario&, const SimulationOptions&) { throw RunError("It was run again."); }

}  // namespace

TEST_CASE("results come in the study's order, however many run at a time") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({1, 2, 3, 4, 5})));
  for (const int jobs : {1, 3, 8}) {
    CAPTURE(jobs);
    SweepSettings settings;
    settings.jobs = jobs;
    settings.run = quick;
    CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{1, 2, 3, 4, 5});
  }
}

TEST_CASE("while many seeds are loaded and examined the sweep says how many are, before the first one runs") {
  const Folder folder;
  Json scenario = small_study({2});
  scenario["seeds"] = 5000;
  const Study study = expand_study(folder.write_json("s.json", scenario));
  std::vector<std::size_t> told;
  SweepSettings settings;
  settings.run = quick;
  settings.shard = parse_points("1");
  settings.ready = [&](std::size_t points) { told.push_back(points); };
  CHECK(sweep_results(study, settings).size() == 1);
  REQUIRE(told.size() >= 2);  // 5,000 are examined in two parts at least
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.front() < 5000);
  CHECK(told.back() == 5000);
}

TEST_CASE("what fails, dies or takes too long is a row, and the sweep goes on") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({1, 2, 3, 4})));
  SweepSettings settings;
  settings.database = folder.path("r.db");
  settings.timeout_s = 2;
  settings.run = [](const Scenario& scenario, const SimulationOptions&) {
    if (workers_of(scenario) == 1) throw RunError("Deadlock.");
    if (workers_of(scenario) == 2) std::raise(SIGKILL);
    while (workers_of(scenario) == 3) pause();
    return made_outcome(scenario);
  };
  const std::vector<RunRow> runs = sweep_results(study, settings);
  REQUIRE(runs.size() == 4);
  CHECK(runs[0].status == RunStatus::failed);
  CHECK(runs[0].error == "Deadlock.");
  CHECK(runs[1].status == RunStatus::failed);
  CHECK(runs[1].error ==
        "The process was ended by signal 9 (Killed), which is what the system does when memory runs out.");
  CHECK(runs[2].status == RunStatus::timeout);
  CHECK(runs[2].error == "The process took longer than 2 s.");
  CHECK(runs[3].status == RunStatus::ok);
  const ResultStore store(folder.path("r.db"));
  for (const RunRow& run : runs) CHECK(store.run(run.key)->error == run.error);
}

TEST_CASE("the context of a failed run has the members of every context") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({1, 2})));
  SweepSettings settings;
  settings.run = [](const Scenario& scenario, const SimulationOptions& options) {
    return workers_of(scenario) == 1 ? run_scenario(scenario, options) : never(scenario, options);
  };
  const std::vector<RunRow> runs = sweep_results(study, settings);
  REQUIRE(runs[0].status == RunStatus::ok);
  REQUIRE(runs[1].status == RunStatus::failed);
  const auto names = [](const nlohmann::ordered_json& object) {
    std::vector<std::string> all;
    for (const auto& [name, value] : object.items()) all.push_back(name);
    return all;
  };
  CHECK(names(runs[0].read()["context"]) == names(runs[1].read()["context"]));
}

TEST_CASE("points that have a result are not run again, failed ones are") {
  const Folder folder;
  SweepSettings settings;
  settings.database = folder.path("r.db");
  settings.run = [](const Scenario& scenario, const SimulationOptions& options) {
    return workers_of(scenario) == 2 ? never(scenario, options) : made_outcome(scenario);
  };
  const Study study = load_study(folder.write_json("s.json", small_study({1, 2})));
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{1, -1});
  // A larger study with the same points: 1 and 3 are found, 2 failed and 4 is new.
  sweep_results(load_study(folder.write_json("s.json", small_study({3}))), settings);
  settings.run = [](const Scenario& scenario, const SimulationOptions& options) {
    return workers_of(scenario) % 2 == 1 ? never(scenario, options) : made_outcome(scenario);
  };
  const Study larger = load_study(folder.write_json("s.json", small_study({1, 2, 3, 4})));
  CHECK(throughputs(sweep_results(larger, settings)) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("force runs again; a failure is reported, and the earlier result stays") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({1})));
  SweepSettings settings;
  settings.database = folder.path("r.db");
  settings.run = quick;
  const std::string key = sweep_results(study, settings)[0].key;
  settings.force = true;
  settings.run = never;
  CHECK(sweep_results(study, settings)[0].error == "It was run again.");
  CHECK(ResultStore(folder.path("r.db")).status(key) == RunStatus::ok);
}

TEST_CASE("a stored point is run again where its files are asked for and are not there") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({1, 2})));
  SweepSettings settings;
  settings.database = folder.path("r.db");
  sweep_results(study, settings);
  settings.artifacts = folder.path("out");
  sweep_results(study, settings);
  for (const char* file : {"cluster-workers-1/result.json", "cluster-workers-2/timeline.json"})
    CHECK(std::filesystem::exists(settings.artifacts / file));
  settings.run = never;
  CHECK(sweep_results(study, settings)[1].status == RunStatus::ok);
  std::filesystem::remove(settings.artifacts / "cluster-workers-2/result.json");
  CHECK(sweep_results(study, settings)[1].error == "It was run again.");
}

TEST_CASE("points with the same scenario each have a result and a directory") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({2, 2})));
  SweepSettings settings;
  settings.artifacts = folder.path("out");
  settings.run = quick;
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{2, 2});
  CHECK(std::filesystem::exists(settings.artifacts / "cluster-workers-2-2/result.json"));
}

TEST_CASE("the parts of a sweep together are the whole sweep") {
  const Folder folder;
  const Study study = load_study(folder.write_json("s.json", small_study({1, 2, 3, 4, 5})));
  SweepSettings settings;
  settings.database = folder.path("r.db");
  settings.run = quick;
  settings.shard = {1, 2};
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{1, 3, 5});
  settings.shard = {2, 2};
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{2, 4});
  CHECK(!std::filesystem::exists(folder.path("r.db")));
  settings.run = never;
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{2, 4});
  settings.shard = {};
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{1, 2, 3, 4, 5});
  CHECK(!std::filesystem::exists(folder.path("r.db.spool")));
  settings.shard = {1, 2};
  CHECK(throughputs(sweep_results(study, settings)) == std::vector<double>{1, 3, 5});
}

TEST_CASE("everything that is wrong with any point is told before one runs, and no file is made") {
  const Folder folder;
  Json scenario = small_study({1, 4, 8});
  scenario["cluster"]["nodes"] = 2;
  scenario["algorithm"]["fusion_threshold"] = "1 MB";
  const Study study = load_study(folder.write_json("s.json", scenario));
  SweepSettings settings;
  settings.database = folder.path("r.db");
  settings.artifacts = folder.path("out");
  try {
    sweep_results(study, settings);
    FAIL("the cluster has too few GPUs");
  } catch (const ConfigError& error) {
    CHECK(error.errors().size() == 2);
  }
  CHECK(!std::filesystem::exists(folder.path("r.db")));
  CHECK(!std::filesystem::exists(folder.path("out")));
}

TEST_CASE("a shard is written as index and count") {
  CHECK(parse_shard("2/3").index == 2);
  CHECK(parse_shard("2/3").count == 3);
  for (const char* bad : {"", "2", "0/3", "4/3", "a/3", "2/3x", "2/", "-1/3"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_shard(bad), ConfigError);
  }
  CHECK_THROWS_WITH(
      parse_shard("4/3"),
      "--shard: is not a shard. Found: 4/3. Write I/N, such as 1/4 for the first of four parts.");
}

TEST_CASE("the memory of what runs at a time is that of the largest points") {
  CHECK(memory_at_once_bytes({{0, 5}, {1, 9}, {2, 7}}, 2) == 16);
  CHECK(memory_at_once_bytes({{0, 5}}, 2) == 5);
  CHECK(memory_at_once_bytes({}, 2) == 0);
}

}  // namespace simsgd::test::analysis_sweep

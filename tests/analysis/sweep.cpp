#include <doctest/doctest.h>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <regex>

#include "analysis/runs/results.hpp"
#include "analysis/runs/store.hpp"
#include "analysis/runs/sweep.hpp"
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

// The verb `sweep` from outside: what it prints, the exit codes, and what stays after Ctrl-C.

TEST_CASE("failed points give exit code 3, a sentence, and a line with the error") {
  const Folder folder;
  Json scenario = small_study({2});
  // The second point would take hours.
  scenario["axes"] = {{{"pointer", "/stop/steps"}, {"values", {10, 2000000000}}}};
  const std::string study = folder.write_json("s.json", scenario), database = folder.path("r.db");
  const Ended table = run_simsgd({"sweep", "run", study, "-o", database, "--timeout", "0.5"});
  CHECK(table.code == 3);
  CHECK(table.err.ends_with("stop/steps=2000000000: The process took longer than 0.5 s.\n"));
  CHECK(table.out.find("failed") != std::string::npos);
  const StoredResults results(database);
  const ResultPoint& kept = results.studies().at(0).points.at(1);
  CHECK(kept.status == RunStatus::timeout);
  CHECK(kept.error == "The process took longer than 0.5 s.");
  CHECK(kept.metrics.empty());
  CHECK(results.workers(kept.key).empty());
  CHECK(results.scenario(kept.key)["stop"]["steps"] == kept.coordinates.at(0).value);
  const Ended lines = run_simsgd({"sweep", "run", study, "--timeout", "0.5", "--json"});
  CHECK(lines.code == 3);
  const std::vector<std::string> documents = without_context(lines.out);
  REQUIRE(documents.size() == 2);
  const Json failed = Json::parse(documents[1]);
  CHECK(failed["status"] == "timeout");
  CHECK(failed["error"] == kept.error);
  CHECK(failed["scenario"]["stop"]["steps"] == 2000000000);
}

TEST_CASE("all that is wrong with any point is told before one runs: exit code 2, and no file is left") {
  const Folder folder;
  Json scenario = small_study({1, 4, 8});
  scenario["cluster"]["nodes"] = 2;
  const std::string study = folder.write_json("s.json", scenario);
  const Ended ended =
      run_simsgd({"sweep", "run", study, "-o", folder.path("r.db"), "--artifacts", folder.path("out")});
  CHECK(ended.code == 2);
  CHECK(ended.out == "");
  CHECK(ended.err.ends_with("\n2 errors; nothing was run or written.\n"));
  CHECK(!std::filesystem::exists(folder.path("r.db")));
  CHECK(!std::filesystem::exists(folder.path("out")));
  CHECK(run_simsgd({"sweep", "run", study, "--shard", "3/2"}).code == 2);
  CHECK(run_simsgd({"sweep", "run", study, "--jobs", "0"}).code == 2);
}

TEST_CASE("Ctrl-C ends what runs, keeps what has ended, and exits with 130") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    const Folder folder;
    Json scenario = small_study({2});
    // The second point would take hours.
    scenario["axes"] = {{{"pointer", "/stop/steps"}, {"values", {10, 2000000000}}}};
    const std::string study = folder.write_json("s.json", scenario);
    bool sent = false;
    const Ended ended = run_simsgd({"sweep", "run", study, "-o", folder.path("r.db"), "--jobs", "1"},
                                   [&](const std::string& err, int process) {
                                     if (!sent && err.find("stop/steps=10: ok") != std::string::npos) {
                                       kill(process, signal);
                                       sent = true;
                                     }
                                   });
    CHECK(ended.code == 130);
    CHECK(ended.err.find("1 of 2 points are done and kept; the same command goes on from there.") !=
          std::string::npos);
    const ResultStore store(folder.path("r.db"));
    const std::vector<ResultPoint> points = store.studies().at(0).points;
    CHECK(store.status(points.at(0).key) == RunStatus::ok);
    CHECK(!store.status(points.at(1).key));
  }
}

TEST_CASE("a check compares where \"when\" holds, and decides the exit code") {
  const Folder folder;
  Json scenario = small_study({1, 2});
  const auto expect = [](double value, int workers) {
    return Json{{"metric", "bytes_sent_per_worker_per_step"},
                {"value", value},
                {"tolerance", 0.01},
                {"source", "by hand"},
                {"when", {{"/cluster/workers", workers}}}};
  };
  // A ring sends 2 (P - 1) / P of 1,010 parameters of 4 bytes: nothing alone, 4,040 bytes of two workers.
  scenario["expected"] = {expect(0, 1), expect(4040, 2)};
  const std::string right = folder.write_json("right.json", scenario);
  const Ended holds = run_simsgd({"sweep", "run", right, "--check"});
  CHECK(holds.code == 0);
  CHECK(
      holds.out.find(
          "point              metric                          unit  expected  simulated    error  tolerance      source\n"
          "cluster/workers=1  bytes_sent_per_worker_per_step  B            0          0  +0.00 %        1 %  ok  by hand\n"
          "cluster/workers=2  bytes_sent_per_worker_per_step  B         4040       4040  +0.00 %        1 %  ok  by hand\n"
          "2 of 2 expected values hold.\n") != std::string::npos);
  scenario["expected"][1]["value"] = 4000 / 1.02;
  const std::string wrong = folder.write_json("wrong.json", scenario);
  const Ended misses = run_simsgd({"sweep", "run", wrong, "--check", "--json"});
  CHECK(misses.code == 1);
  CHECK(misses.err.find("1 of 2 expected values hold.") != std::string::npos);
}

TEST_CASE("a check without expected values does not hold") {
  const Folder folder;
  const Ended ended = run_simsgd({"sweep", "run", folder.write_json("s.json", small_study({1})), "--check"});
  CHECK(ended.code == 1);
  CHECK(
      ended.out.find("Nothing to compare: the scenario's \"expected\" has no value whose \"when\" holds.") !=
      std::string::npos);
}

TEST_CASE("a plan tells what is done and what is to run, and makes no file") {
  const Folder folder;
  const std::string database = folder.path("r.db");
  const std::string one = folder.write_json("s.json", small_study({1}));
  CHECK(run_simsgd({"sweep", "plan", one, "-o", database}).code == 0);
  CHECK(!std::filesystem::exists(database));
  REQUIRE(run_simsgd({"sweep", "run", one, "-o", database}).code == 0);
  const std::string three = folder.write_json("s.json", small_study({1, 2, 3}));
  const Ended plan = run_simsgd({"sweep", "plan", three, "-o", database});
  CHECK(plan.code == 0);
  CHECK(plan.out.starts_with("small: 3 points, 1 done, 2 to run\n"));
  CHECK(plan.out.find("1      cluster/workers=1  done ") != std::string::npos);
  // Of 99.9 and 100 MB the shorter one is moved to the right.
  CHECK(std::regex_search(plan.out, std::regex("3      cluster/workers=3  to run +about ")));
}

TEST_CASE("the table names the timelines and the results") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", small_study({1, 2}));
  const Ended ended =
      run_simsgd({"sweep", "run", study, "-o", folder.path("r.db"), "--artifacts", folder.path("out")});
  CHECK(ended.code == 0);
  CHECK(folder.without_folder(ended.out.substr(ended.out.find("\nTimelines"))) ==
        "\nTimelines, to open in https://ui.perfetto.dev:\n"
        "  out/cluster-workers-1/timeline.json\n"
        "  out/cluster-workers-2/timeline.json\n"
        "Documents and curves: out/*/{result.json,loss.csv,accuracy.csv}\n"
        "Results: r.db\n");
}

}  // namespace simsgd::test::analysis_sweep

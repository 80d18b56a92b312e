// However a study is swept, cut, killed, shared and merged: its export has the same bytes.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "analysis/runner.hpp"
#include "analysis/runs/results.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/run_sink.hpp"
#include "analysis/runs/store.hpp"
#include "scenarios/language/point_loader.hpp"
#include "tests/analysis/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::analysis_same_bytes {

namespace {

namespace fs = std::filesystem;

// 2 x 2 x 4 points with stragglers; one of them twice, as a seed is.
std::string write_study(const Folder& folder) {
  Json study = small_study({2, 4});
  study["stragglers"] = {{{"name", "exponential"}, {"mean", "1 ms"}}};
  study["axes"].push_back({{"pointer", "/stragglers/0/mean"}, {"values", {"1 ms", "2 ms"}}});
  study["seeds"] = 4;
  return folder.write_json("s.json", study);
}

std::string exported(const std::string& file) {
  std::ostringstream out;
  export_results(file, out);
  return out.str();
}

std::vector<std::string> sweep(const std::string& study, const std::string& database,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"sweep", "run", study, "-o", database};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string reference(const Folder& folder, const std::string& study) {
  REQUIRE(run_simsgd(sweep(study, folder.path("one.db"), {"--jobs", "1"})).code == 0);
  return exported(folder.path("one.db"));
}

// Ends the process after so many microseconds.
void kill_later(int process, unsigned delay_us) {
  if (fork() != 0) return;
  usleep(delay_us);
  kill(process, SIGKILL);
  _exit(0);
}

}  // namespace

TEST_CASE("export: a line for the study, and one for each point with its numbers") {
  const Folder folder;
  const std::string text = reference(folder, write_study(folder));
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const Json study = Json::parse(line);
  CHECK(study["study"] == "small");
  CHECK(study["points"] == 16);
  std::size_t points = 0;
  for (; std::getline(lines, line); ++points) {
    const Json point = Json::parse(line);
    CHECK(point["point"] == points);
    CHECK(point["status"] == "ok");
    CHECK(point["seed"] == points % 4 + 1);
    CHECK(point["coordinates"].size() == 2);
    // Of all workers, whose median is at least the least: the mean that the metrics have lies between.
    const Json& steps = point["workers"]["steps"];
    CHECK(steps.size() == 5);
    CHECK(point["workers"]["compute_s"][0] <= point["workers"]["compute_s"][4]);
    CHECK(point["links"].size() >= 1);
  }
  CHECK(points == 16);
  for (const std::string machine : {"\"host\"", "date", "wall_time", "program"}) {
    CAPTURE(machine);
    CHECK(text.find(machine) == std::string::npos);
  }
}

TEST_CASE("the same bytes for two jobs, for whole documents, and for shards merged in any order") {
  const Folder folder;
  const std::string study = write_study(folder), expected = reference(folder, study);
  REQUIRE(run_simsgd(sweep(study, folder.path("two.db"), {"--jobs", "2"})).code == 0);
  CHECK(exported(folder.path("two.db")) == expected);
  REQUIRE(run_simsgd(sweep(study, folder.path("whole.db"), {"--documents"})).code == 0);
  CHECK(exported(folder.path("whole.db")) == expected);
  std::vector<fs::path> parts;
  for (const char* shard : {"1/3", "2/3", "3/3"})
    REQUIRE(run_simsgd(sweep(study, folder.path("cut.db"), {"--shard", shard})).code == 0);
  for (const int i : {1, 2, 3})
    parts.push_back(folder.path(fmt::format("cut.db.spool/shard-{}-of-3.jsonl", i)));
  for (int order = 0; std::next_permutation(parts.begin(), parts.end()) || order == 0; ++order) {
    const std::string merged = folder.path(fmt::format("merged{}.db", order));
    merge_stores(parts, merged);
    CHECK(exported(merged) == expected);
  }
  merge_stores({folder.path("two.db"), folder.path("whole.db"), folder.path("one.db")},
               folder.path("all.db"));
  CHECK(exported(folder.path("all.db")) == expected);
  // A sweep without --shard absorbs them, and has nothing left to run.
  const Ended whole = run_simsgd(sweep(study, folder.path("cut.db")));
  CHECK(whole.err.find("16 of 16 points are already in") != std::string::npos);
  CHECK(exported(folder.path("cut.db")) == expected);
}

TEST_CASE("killed at ten random moments, and begun again each time: the same bytes") {
  const Folder folder;
  const std::string study = write_study(folder), expected = reference(folder, study);
  std::mt19937 random(7);
  int killed = 0;
  for (int i = 0; i < 10; ++i) {
    // 2 ms to half a second, evenly on a logarithmic scale: while it loads, runs, writes and after.
    const double delay_us = 2000 * std::pow(250.0, std::uniform_real_distribution<>()(random));
    const std::string database = folder.path(fmt::format("k{}.db", i / 3));
    const Ended ended = run_simsgd(sweep(study, database, {"--jobs", i % 2 == 0 ? "1" : "2"}), {},
                                   [&] { kill_later(getpid(), static_cast<unsigned>(delay_us)); });
    killed += ended.code == -SIGKILL ? 1 : 0;
    if (fs::exists(database)) (void)ResultStore::read_only(database);  // is whole, whatever is in it
    if (i % 3 != 2) continue;
    REQUIRE(run_simsgd(sweep(study, database)).code == 0);
    CHECK(exported(database) == expected);
  }
  CHECK(killed >= 3);
}

TEST_CASE("two processes at once on one store share the points, and each runs once") {
  const Folder folder;
  const std::string file = write_study(folder), expected = reference(folder, file);
  const std::string database = folder.path("shared.db"), log = folder.path("log");
  std::vector<pid_t> processes;
  for (int i = 0; i < 2; ++i) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    const Study study = load_study(file);
    SweepSettings settings;
    settings.database = database;
    settings.run = [&log](const Scenario& scenario, const SimulationOptions& options) {
      std::ofstream(log, std::ios::app) << fmt::format("{}\n", run_key(scenario.resolved));
      return run_with_intervals(scenario, options, {.draws = kUsualDraws, .jobs = 1, .progress = {}});
    };
    std::size_t results = 0;
    run_sweep(study, settings,
              {.begin = {}, .result = [&results](const PointResult&) { ++results; }, .progress = {}});
    _exit(results == 16 ? 0 : 1);
  }
  for (const pid_t each : processes) {
    int status = 0;
    waitpid(each, &status, 0);
    CHECK(status == 0);
  }
  CHECK(exported(database) == expected);
  std::vector<std::string> keys;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) keys.push_back(line);
  CHECK(keys.size() == 16);
  std::sort(keys.begin(), keys.end());
  CHECK(std::unique(keys.begin(), keys.end()) == keys.end());
  const Database after(database, Database::Mode::create);
  Statement left(after, "SELECT (SELECT count(*) FROM claims) + (SELECT count(*) FROM processes)");
  REQUIRE(left.step());
  CHECK(left.integer() == 0);
}

TEST_CASE("a claim holds while its process lives, and is free when that was killed") {
  const Folder folder;
  ResultStore store(folder.path("r.db"));
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t other = fork();
  if (other == 0) {
    ResultStore own(folder.path("r.db"));
    Turns claims(own.database());
    claims.ask("a", false, false);
    claims.ask("b", false, false);
    own.put(failed_run("b", "No."));
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  char word = 0;
  REQUIRE(read(ready[0], &word, 1) == 1);
  Turns claims(store.database());
  CHECK(claims.ask("a", false, false) == Turn::busy);
  CHECK(claims.ask("b", false, false) == Turn::ended);  // it failed there: once is enough
  CHECK(claims.ask("c", false, false) == Turn::mine);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  CHECK(claims.ask("a", false, false) == Turn::mine);
  CHECK(claims.ask("b", false, false) == Turn::mine);  // a later sweep tries again
  store.put(made_run("d"));
  CHECK(claims.ask("d", false, false) == Turn::ended);
  CHECK(claims.ask("d", false, true) == Turn::mine);  // with its document
  CHECK(claims.ask("d", true, false) == Turn::mine);
}

TEST_CASE("loading only what differs gives the scenarios, origins and keys of loading all") {
  for (const char* file : {"scenarios/studies/straggler_share.json", "scenarios/studies/bench_10k.json",
                           "scenarios/studies/convergence.json", "scenarios/quickstart.json",
                           "scenarios/studies/nonblocking_slow_device.json"}) {
    const std::string path = std::string(SIMSGD_SOURCE_DIR "/") + file;
    if (!fs::exists(path)) continue;
    CAPTURE(file);
    const Study study = expand_study(path);
    PointLoader loader(study);
    const std::size_t every = std::max<std::size_t>(1, study.points.size() / 40);
    for (std::size_t i = 0; i < study.points.size(); i += i % (2 * every) == 0 ? 1 : every) {
      CAPTURE(i);
      const Scenario whole = load_point(study, study.points[i]);
      const Scenario& quick = loader.load(study.points[i]);
      CHECK(quick.resolved == whole.resolved);
      CHECK(quick.origins.at("/seed") == whole.origins.at("/seed"));
      CHECK(loader.text() == whole.resolved.dump());
    }
  }
}

namespace {

// 96 points: whatever a point shares with the one before it, something differs.
Json many_axes() {
  Json study = small_scenario();
  study["name"] = "many";
  study["cluster"]["gpus_per_node"] = 2;
  study["cluster"]["gpu_link"] = {{"bandwidth", "12 GB/s"}};
  study["workload"]["layers"][0]["forward_flop"] = 2e9;
  study["stop"] = {{"steps", 4}};
  study["optimizer"] = {{"name", "sgd"}, {"schedule", {{"name", "cosine"}}}};
  study["expected"] = {{{"metric", "throughput_samples_per_s"},
                        {"value", 1},
                        {"tolerance", 1},
                        {"source", "nobody"},
                        {"when", {{"/cluster/workers", 8}}}}};
  study["axes"] = {
      {{"pointer", "/algorithm"},
       {"values",
        {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"period", 2}}, {{"name", "d_psgd"}}}}},
      {{"pointer", "/cluster/workers"}, {"values", {4, 8}}},
      {{"name", "network"},
       {"values",
        {{{"label", "plain"}, {"set", Json::object()}},
         {{"label", "poor"},
          {"set",
           {{"/network/precision", "fp16"},
            {"/network/slow_links", {{{"nodes", {0}}, {"bandwidth_factor", 0.5}}}},
            {"/cluster/placement", {{"name", "random"}}},
            {"/stop/steps", 3}}}}}}},
      {{"pointer", "/stragglers"},
       {"values", {Json::array(), {{{"name", "constant"}, {"count", 1}, {"factor", 3}}}}}},
      {{"pointer", "/learner"}, {"values", {nullptr, small_learner()}}}};
  study["seeds"] = 2;
  return study;
}

// Without its context.
std::string document_of(const Scenario& scenario, const Job& job) {
  const IntervalSettings usual{.draws = kUsualDraws, .jobs = 1, .progress = {}};
  nlohmann::ordered_json document = run_with_intervals(scenario, job, {}, usual).document;
  document.erase("context");
  return document.dump();
}

// A process of its own, which may simulate; a line of what it gives for each.
std::vector<std::string> in_a_child(const Folder& folder, const std::function<void(std::ostream&)>& work) {
  const std::string file = folder.path("lines");
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream lines(file);
    work(lines);
    lines.close();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  std::vector<std::string> all;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("points over many axes give the documents that they give alone, in any order and with two jobs") {
  const Folder folder;
  const std::string file = folder.write_json("s.json", many_axes());
  const Study study = load_study(file);
  REQUIRE(study.points.size() == 96);
  std::vector<std::string> alone;
  for (const StudyPoint& point : study.points) {
    const Scenario scenario = load_point(study, point);
    const std::vector<std::string> lines = in_a_child(
        folder, [&](std::ostream& out) { out << document_of(scenario, make_job(scenario)) << "\n"; });
    REQUIRE(lines.size() == 1);
    alone.push_back(lines.front());
  }
  CHECK(std::set<std::string>(alone.begin(), alone.end()).size() >= 90);
  for (const char* jobs : {"1", "2"}) {
    CAPTURE(jobs);
    const Ended ended = run_simsgd({"sweep", "run", file, "--json", "--jobs", jobs});
    CHECK(ended.code == 0);
    CHECK(without_context(ended.out) == alone);
  }
  REQUIRE(run_simsgd(sweep(file, folder.path("s.db"), {"--jobs", "2"})).code == 0);
  const std::optional<ResultStore> store = ResultStore::read_only(folder.path("s.db"));
  REQUIRE(store);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    nlohmann::ordered_json kept = store->run(run_key(load_point(study, study.points[i]).resolved))->read(),
                           document = brief_document(nlohmann::ordered_json::parse(alone[i]));
    kept.erase("context");
    document.erase("context");
    CHECK(kept == document);
  }
  std::vector<std::size_t> order(study.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(3);
  std::shuffle(order.begin(), order.end(), random);
  const std::vector<std::string> shuffled = in_a_child(folder, [&](std::ostream& out) {
    PointLoader loader(study);
    for (const std::size_t i : order) {
      const Scenario& scenario = loader.load(study.points[i]);
      out << document_of(scenario, loader.job()) << "\n";
      const Scenario whole = load_point(study, study.points[i]);
      out << (loader.text() == whole.resolved.dump() &&
              loader.completed_text() == completed(whole, make_job(whole)).dump())
          << "\n";
    }
  });
  REQUIRE(shuffled.size() == 2 * order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    CAPTURE(order[i]);
    CHECK(shuffled[2 * i] == alone[order[i]]);
    CHECK(shuffled[2 * i + 1] == "1");
  }
}

TEST_CASE("what is wrong with a point is what is wrong with it alone, whichever point came before") {
  const Folder folder;
  Json study = small_scenario();
  study["cluster"]["nodes"] = 4;
  study["axes"] = {{{"pointer", "/cluster/workers"}, {"values", {4, 8, "many"}}},
                   {{"pointer", "/workload/batch"}, {"values", {8, -1}}},
                   {{"pointer", "/algorithm"},
                    {"values", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"perod", 2}}}}},
                   {{"pointer", "/target"}, {"values", {nullptr, {{"metric", "train_loss"}, {"value", 1}}}}}};
  const Study expanded = expand_study(folder.write_json("s.json", study));
  const auto error_of = [](const std::function<void()>& load) -> std::string {
    return refusal_of<ConfigError>([&] { load(); });
  };
  PointLoader loader(expanded);
  std::size_t right = 0;
  for (std::size_t i = 0; i < 3 * expanded.points.size(); ++i) {
    const StudyPoint& point = expanded.points[i * 7 % expanded.points.size()];
    CAPTURE(point.label);
    const std::string alone = error_of([&] { (void)make_job(load_point(expanded, point)); });
    const std::string after_others = error_of([&] {
      loader.load(point);
      (void)loader.job();
    });
    CHECK(after_others == alone);
    right += alone.empty() ? 1 : 0;
  }
  CHECK(right == 3);
}

TEST_CASE("points of a study that uses a whole file, which an axis exchanges, are those of the files") {
  const Folder folder;
  Json four = small_scenario(), eight = four;
  eight["cluster"]["workers"] = 8;
  eight["stragglers"] = {{{"name", "constant"}, {"count", 1}, {"factor", 3}}};
  folder.write_json("four.json", four);
  folder.write_json("eight.json", eight);
  const Json axes = {{{"pointer", "/use"}, {"values", {"four.json", "eight.json"}}},
                     {{"pointer", "/stop/steps"}, {"values", {3, 4}}}};
  const Study study =
      expand_study(folder.write_json("s.json", {{"use", "four.json"}, {"name", "files"}, {"axes", axes}}));
  REQUIRE(study.points.size() == 4);
  PointLoader loader(study);
  for (const std::size_t i : {0U, 3U, 1U, 2U, 0U}) {
    CAPTURE(i);
    Json alone = i < 2 ? four : eight;
    alone["name"] = "files";
    alone["stop"]["steps"] = i % 2 == 0 ? 3 : 4;
    const Scenario whole = load(alone);
    CHECK(loader.load(study.points[i]).resolved == whole.resolved);
    CHECK(loader.job().workers() == (i < 2 ? 4 : 8));
    CHECK(loader.completed_text() == completed(whole, make_job(whole)).dump());
  }
}

}  // namespace simsgd::test::analysis_same_bytes

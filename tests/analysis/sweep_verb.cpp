// The verb `sweep` from outside: what it prints, the exit codes, and what stays after Ctrl-C.
#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/runs/store.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_sweep_verb {

namespace {

Json learning_study() {
  Json study = small_study({2, 4});
  study["learner"] = small_learner();
  study["optimizer"] = {{"name", "sgd"}, {"learning_rate", 0.1}};
  study["stragglers"] = {{{"name", "exponential"}, {"mean", "1 ms"}}};
  study["seeds"] = 2;
  return study;
}

}  // namespace

TEST_CASE("the same documents for any --jobs and --threads, stored or not, in parts or whole") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", learning_study());
  const std::string database = folder.path("r.db");
  const Ended one = run_simsgd({"sweep", "run", study, "--json", "--jobs", "1", "--threads", "1"});
  CAPTURE(one.err);
  REQUIRE(one.code == 0);
  const std::vector<std::string> documents = without_context(one.out);
  CHECK(documents.size() == 4);
  CHECK(without_context(run_simsgd({"sweep", "run", study, "--json", "--jobs", "2", "--threads", "2"}).out) ==
        documents);
  for (const char* shard : {"1/2", "2/2"})
    CHECK(without_context(run_simsgd({"sweep", "run", study, "--json", "-o", database, "--shard", shard}).out)
              .size() == 2);
  const Ended merged = run_simsgd({"sweep", "run", study, "--json", "-o", database});
  CHECK(without_context(merged.out) == documents);
  CHECK(merged.err == "4 of 4 points are already in " + database + " (--force runs them again).\n");
}

TEST_CASE("failed points give exit code 3, a sentence, and a line with the error") {
  const Folder folder;
  Json scenario = small_study({2});
  // The second point would take hours.
  scenario["axes"] = {{{"pointer", "/stop/steps"}, {"values", {10, 2000000000}}}};
  const std::string study = folder.write_json("s.json", scenario);
  const Ended table = run_simsgd({"sweep", "run", study, "--timeout", "2"});
  CHECK(table.code == 3);
  CHECK(table.err.ends_with("stop/steps=2000000000: The process took longer than 2 s.\n"));
  CHECK(table.out.find("failed") != std::string::npos);
  const Ended lines = run_simsgd({"sweep", "run", study, "--timeout", "2", "--json"});
  CHECK(lines.code == 3);
  const std::vector<std::string> documents = without_context(lines.out);
  REQUIRE(documents.size() == 2);
  const Json failed = Json::parse(documents[1]);
  CHECK(failed["status"] == "timeout");
  CHECK(failed["error"] == "The process took longer than 2 s.");
  CHECK(failed["scenario"]["stop"]["steps"] == 2000000000);
}

TEST_CASE("bad input gives exit code 2 and leaves no file") {
  const Folder folder;
  Json scenario = small_study({1, 8});
  scenario["cluster"]["nodes"] = 2;
  const std::string study = folder.write_json("s.json", scenario);
  const Ended ended =
      run_simsgd({"sweep", "run", study, "-o", folder.path("r.db"), "--artifacts", folder.path("out")});
  CHECK(ended.code == 2);
  CHECK(ended.out == "");
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

}  // namespace simsgd::test::analysis_sweep_verb

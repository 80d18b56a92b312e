#include "tests/analysis/support.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "cli/verbs.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd::test {

OrderedJson made_document(double loss) {
  const OrderedJson worker = {
      {"rank", 0}, {"node", 0}, {"steps", 2}, {"time_by_activity", {{"compute_s", 0.05}}}};
  OrderedJson slow = worker;
  slow["rank"] = 1;
  slow["time_by_activity"]["compute_s"] = 0.1;
  return {{"schema_version", 1},
          {"context", {{"program", "simsgd"}, {"date", "2026-01-01T00:00:00Z"}}},
          {"scenario", {{"name", "made"}, {"seed", 1}}},
          {"metrics", {{"train_loss_final", loss}, {"simulated_time_s", 0.1}}},
          {"workers", {worker, slow}},
          {"links", {{{"name", "a"}, {"bandwidth_Bps", 1e9}, {"bytes", 5.0}, {"utilisation", 0.5}}}},
          {"series",
           {{"train",
             {{{"step", 1}, {"time_s", 0.05}, {"train_loss", 1.0 / 3}},
              {{"step", 2}, {"time_s", 0.1}, {"train_loss", 0.25}}}},
            {"test",
             {{{"step", 2},
               {"time_s", 0.1},
               {"test_loss", 0.7},
               {"test_accuracy", 0.9},
               {"consensus_distance", nullptr}}}}}},
          {"notes", {"made by hand"}}};
}

RunRow made_run(const std::string& key, double loss) { return ended_run(key, made_document(loss), false); }

RunRow failed_run(const std::string& key, const std::string& error) {
  RunRow run = made_run(key);
  run.status = RunStatus::failed;
  run.error = error;
  run.metrics.clear();
  run.notes.clear();
  OrderedJson document = made_document();
  run.document = OrderedJson{{"context", document["context"]}, {"scenario", document["scenario"]}}.dump();
  return run;
}

Json small_study(const std::vector<int>& workers) {
  Json study = small_scenario();
  study["name"] = "small";
  study["axes"] = {{{"pointer", "/cluster/workers"}, {"values", workers}}};
  return study;
}

RunOutcome made_outcome(const Scenario& scenario) {
  OrderedJson document = made_document(0.5);
  document["scenario"] = OrderedJson::parse(scenario.resolved.dump());
  document["metrics"]["throughput_samples_per_s"] = scenario.resolved["cluster"]["workers"].get<double>();
  return {std::move(document), Timeline({})};
}

std::vector<RunRow> sweep_results(const Study& study, const SweepSettings& settings) {
  std::vector<RunRow> runs;
  run_sweep(study, settings,
            {.begin = {},
             .result = [&runs](const PointResult& result) { runs.push_back(result.run()); },
             .progress = {}});
  return runs;
}

Ended run_simsgd(const std::vector<std::string>& arguments,
                 const std::function<void(const std::string&, int)>& watch,
                 const std::function<void()>& before) {
  const Folder folder;
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    if (std::freopen(folder.path("out").c_str(), "w", stdout) == nullptr) _exit(99);
    if (before) before();
    const int code = run_command_line(arguments);
    std::fflush(nullptr);
    _exit(code);
  }
  close(ends[1]);
  Ended ended;
  char buffer[4096];
  // The end comes when the child and all of its children are gone.
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    ended.err.append(buffer, static_cast<std::size_t>(got));
    if (watch) watch(ended.err, process);
  }
  close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  std::ostringstream out;
  out << std::ifstream(folder.path("out")).rdbuf();
  ended.out = out.str();
  return ended;
}

std::vector<std::string> without_context(const std::string& lines) {
  std::vector<std::string> documents;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    OrderedJson document = OrderedJson::parse(line);
    document.erase("context");
    documents.push_back(document.dump());
  }
  return documents;
}

}  // namespace simsgd::test

// Runs made by hand, small studies, and the verb `sweep` in a process of its own.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/runs/run_row.hpp"
#include "analysis/runs/sweep.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test {

/// Two metrics, two workers, a link, a curve of two steps and an evaluation.
nlohmann::ordered_json made_document(double loss = 0.5);
/// The same as a run, brief.
RunRow made_run(const std::string& key, double loss = 0.5);
RunRow failed_run(const std::string& key, const std::string& error);

/// small_scenario over so many workers each.
Json small_study(const std::vector<int>& workers);

/// A run that takes no time: a document with the scenario, and its number of workers as
/// "throughput_samples_per_s".
RunOutcome made_outcome(const Scenario& scenario);

/// The results of a sweep in the order in which they came.
std::vector<RunRow> sweep_results(const Study& study, const SweepSettings& settings);

struct Ended {
  int code = 0;
  std::string out, err;
};
/// `simsgd <arguments>` in a child. `watch`, if given, sees its standard error grow, and its process id.
/// `before`, if given, is called in the child first.
Ended run_simsgd(const std::vector<std::string>& arguments,
                 const std::function<void(const std::string& err, int process)>& watch = {},
                 const std::function<void()>& before = {});

/// The documents of `--json`, each without its context.
std::vector<std::string> without_context(const std::string& lines);

}  // namespace simsgd::test

#include "analysis/sweeps/point_runner.hpp"

#include <fmt/format.h>

#include "analysis/data_sheet.hpp"
#include "analysis/intervals.hpp"
#include "analysis/parameter_draws.hpp"
#include "scenarios/language/loading.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

// A run's answer: the length of its scenario, which is text already, that, and the document.
std::string answer_text(const RunRow& run) {
  OrderedJson document = run.document;
  document["context"] = run.context;
  return fmt::format("{}\n{}{}", run.scenario.size(), run.scenario, document.dump());
}

}  // namespace

RunRow run_of(const std::string& answer) {
  const std::size_t line = answer.find('\n');
  const std::size_t size = std::stoul(answer.substr(0, line));
  RunRow run;
  run.scenario = answer.substr(line + 1, size);
  run.document =
      OrderedJson::parse(answer.begin() + static_cast<std::ptrdiff_t>(line + 1 + size), answer.end());
  run.context = std::move(run.document["context"]);
  run.document["context"] = nullptr;
  return run;
}

PointRunner::PointRunner(const Study& study, const SweepSettings& settings)
    : study_(study), settings_(settings), loader_(study) {}

std::function<std::string()> PointRunner::prepare(const SweepPoint& point) {
  const Scenario& scenario = loader_.load(point.point);
  job_.reset();
  // What is known of data may be of another seed: who learns makes a job of its own.
  const bool ready = !settings_.run && settings_.artifacts.empty() && !settings_.documents &&
                     scenario.resolved.at("learner").is_null() &&
                     !(settings_.draws > 1 && is_calibrated(scenario));
  if (ready) job_.emplace(make_job(scenario, study_.known.get()));
  return [this, &scenario, &point] { return answer_text(run(scenario, point)); };
}

RunRow PointRunner::run(const Scenario& scenario, const SweepPoint& point) const {
  SimulationOptions options;
  options.threads = settings_.threads;
  if (job_) {
    RunRow row;
    RunOutcome outcome = run_job(scenario, *job_, options, true);
    if (settings_.draws > 1) tell_data_sheets(scenario.resolved, *job_, false, outcome.document);
    row.scenario = completed(scenario, *job_).dump();
    row.context = std::move(outcome.document["context"]);
    outcome.document["context"] = nullptr;
    row.document = std::move(outcome.document);
    return row;
  }
  RunOutcome outcome =
      settings_.run
          ? settings_.run(scenario, options)
          : run_with_intervals(scenario, options, {.draws = settings_.draws, .jobs = 1, .progress = {}});
  if (!settings_.artifacts.empty()) write_run(outcome, artifact_directory(settings_.artifacts, point));
  return ended_run("", std::move(outcome.document), settings_.documents);
}

}  // namespace simsgd

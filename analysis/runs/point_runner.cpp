#include "analysis/runs/point_runner.hpp"

#include "analysis/data_sheet.hpp"
#include "analysis/intervals.hpp"
#include "analysis/parameter_draws.hpp"

namespace simsgd {

using OrderedJson = nlohmann::ordered_json;

RunRow failed_run(const ChildEnd& end, const Json& scenario) {
  RunRow run;
  run.status = end.kind == ChildEnd::Kind::timed_out ? RunStatus::timeout : RunStatus::failed;
  run.error = failure_of(end);
  RunContext context = with_machine(build_context());
  context.wall_time_s = end.wall_s;
  run.document = OrderedJson{{"context", to_json(context)}, {"scenario", scenario}}.dump();
  return run;
}

std::string PointRunner::run(const SweepPoint& point) {
  const Scenario& scenario = loader_.load(point.point);
  SimulationOptions options;
  options.threads = settings_.threads;
  const bool drawn = settings_.draws > 1 && is_calibrated(scenario);
  if (!settings_.run && !drawn && settings_.artifacts.empty() && !settings_.documents) {
    const Job& job = loader_.job();
    OrderedJson document = run_job(scenario, job, options, true).document;
    if (settings_.draws > 1) tell_data_sheets(scenario.resolved, job, false, document);
    return to_text(ended_run(std::move(document), loader_.completed_text()));
  }
  RunOutcome outcome = settings_.run
                           ? settings_.run(scenario, options)
                           : run_with_intervals(scenario, loader_.job(), options,
                                                {.draws = settings_.draws, .jobs = 1, .progress = {}});
  if (!settings_.artifacts.empty()) write_run(outcome, artifact_directory(settings_.artifacts, point));
  return to_text(ended_run("", std::move(outcome.document), settings_.documents));
}

RunRow PointRunner::run_of(const SweepPoint& point, const ChildEnd& end) {
  RunRow run = end.kind == ChildEnd::Kind::answered ? run_from_text(end.text)
                                                    : failed_run(end, loader_.load(point.point).resolved);
  run.key = point.key;
  return run;
}

}  // namespace simsgd

#include "analysis/live/point_run.hpp"

#include "analysis/intervals.hpp"
#include "analysis/runner.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::live {

namespace {

constexpr char kRun = '=', kImpossible = '?';

}  // namespace

std::string simulate_point(const Study& study, const StudyPoint& point, int threads) {
  try {
    SimulationOptions options;
    options.threads = threads;
    RunOutcome outcome = run_with_intervals(load_point(study, point), options,
                                            {.draws = kUsualDraws, .jobs = 1, .progress = {}});
    return kRun + to_text(ended_run("", std::move(outcome.document), false));
  } catch (const ConfigError& error) {
    return std::string(1, kImpossible) + error.what();
  }
}

PointEnd end_of_point(const Study& study, const StudyPoint& point, const std::string& key,
                      const ChildEnd& end) {
  PointEnd made;
  RunRow& run = made.run;
  if (end.kind == ChildEnd::Kind::answered) {
    if (end.text.front() == kImpossible) {
      made.impossible = end.text.substr(1);
      return made;
    }
    run = run_from_text(end.text.substr(1));
    run.key = key;
    return made;
  }
  run.key = key;
  run.status = end.kind == ChildEnd::Kind::timed_out ? RunStatus::timeout : RunStatus::failed;
  run.error = end.kind == ChildEnd::Kind::threw ? end.text : "The process " + end.text + ".";
  RunContext context = with_machine(build_context());
  context.wall_time_s = end.wall_s;
  run.document =
      nlohmann::ordered_json{{"context", to_json(context)}, {"scenario", load_point(study, point).resolved}}
          .dump();
  return made;
}

}  // namespace simsgd::live

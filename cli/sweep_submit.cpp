// simsgd sweep submit: the points that are missing, as an array of Slurm.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "analysis/runs/run_sink.hpp"
#include "analysis/runs/slurm.hpp"
#include "analysis/runs/sweep.hpp"
#include "analysis/runs/sweep_status.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/this_program.hpp"

namespace simsgd {

namespace {

namespace fs = std::filesystem;

constexpr int kMostTasks = 100'000;

struct SubmitCommand {
  std::string study, database, options;
  int tasks = 1;
  double timeout_s = 0, try_s = 5;
  OverrideOptions overrides;
};

/// What a task runs, whatever directory it is in.
std::vector<std::string> task_command(const SubmitCommand& command) {
  std::vector<std::string> words = {this_program().string(),
                                    "sweep",
                                    "run",
                                    fs::absolute(scenario_path(command.study)).string(),
                                    "-o",
                                    fs::absolute(command.database).string()};
  for (const std::string& each : command.overrides.set) words.insert(words.end(), {"--set", each});
  if (!command.overrides.seed.empty()) words.insert(words.end(), {"--seed", command.overrides.seed});
  if (command.timeout_s > 0) words.insert(words.end(), {"--timeout", fmt::format("{}", command.timeout_s)});
  return words;
}

void check_options(const SubmitCommand& command) {
  if (command.study == "-")
    throw ConfigError({"STUDY", "", "is standard input, which tasks cannot read", "-", "Write it to a file"});
  if (command.options.find_first_of("\n\r") != std::string::npos)
    throw ConfigError({"--slurm", "", "has more than one line", command.options,
                       "Write options of sbatch, as \"-p test\""});
}

// What a task runs whole: a point, or where seeds go on until it is certain all points of a cell, of which
// the task decides which run.
struct Unit {
  std::vector<std::size_t> positions;
  std::vector<SweepPoint> needed;  // as far as is known by now
  bool in_work = false;
};

struct Missing {
  std::vector<Unit> units;
  std::size_t done = 0, in_work = 0, unneeded = 0;

  std::size_t to_submit() const {
    std::size_t count = 0;
    for (const Unit& unit : units) count += unit.needed.size();
    return count;
  }
};

Missing missing_points(const SubmitCommand& command, const Study& study,
                       const std::vector<SweepPoint>& points, const std::string& sweep_id) {
  bool queue_unknown = false;
  const auto working = points_in_work(command.database, sweep_id, points.size(), queue_unknown);
  if (queue_unknown)
    throw ConfigError({"squeue", "", "cannot tell which tasks of earlier submissions still wait or run", "",
                       "Submit where Slurm answers"});
  const auto sink = open_sink_to_look(command.database);
  SeedRounds rounds(study.seed_rule, points);
  rounds.look(points, *sink);
  rounds.decide(points);
  Missing missing;
  std::map<std::size_t, Unit> units;
  std::set<std::string> seen;  // of points that are one run
  for (const SweepPoint& point : points) {
    Unit& unit = units[point.unit];
    unit.positions.push_back(point.position);
    if (sink->status(point.key) == RunStatus::ok) {
      ++missing.done;
    } else if (working.contains(point.position)) {
      ++missing.in_work;
      unit.in_work = true;
    } else if (rounds.of(point.position) != SeedRounds::State::needed) {
      ++missing.unneeded;
    } else if (seen.insert(point.key).second) {
      unit.needed.push_back(point);
    }
  }
  for (auto& [number, unit] : units)
    if (!unit.needed.empty() && !unit.in_work) missing.units.push_back(std::move(unit));
  return missing;
}

// Seconds where tries tell them of every point, else in proportion to workers x steps.
std::vector<WeightedPoint> weighted(const SubmitCommand& command, const Study& study,
                                    const Missing& missing) {
  std::vector<SweepPoint> points;
  for (const Unit& unit : missing.units)
    for (const SweepPoint& point : unit.needed) points.push_back(point);
  const std::vector<PointEstimate> estimates = examine(study, points, 1, interrupted).estimates;
  std::vector<double> costs;
  if (command.try_s > 0)
    costs =
        estimate_times(study, points, estimates, {.try_s = command.try_s, .interrupted = interrupted}).wall_s;
  const bool told = !costs.empty() && std::ranges::all_of(costs, [](double s) { return s > 0; });
  std::vector<WeightedPoint> all;
  std::size_t next = 0;
  for (std::size_t i = 0; i < missing.units.size(); ++i) {
    double cost = 0;
    for (const SweepPoint& point : missing.units[i].needed) {
      cost += told ? costs[next] : relative_cost(load_point(study, point.point).resolved);
      ++next;
    }
    all.push_back({i, cost});
  }
  return all;
}

// The points of each task.
std::vector<std::vector<std::size_t>> tasks_of(const Missing& missing, std::vector<WeightedPoint> weights,
                                               int tasks) {
  std::vector<std::vector<std::size_t>> all;
  for (const std::vector<std::size_t>& part : balanced_parts(std::move(weights), tasks)) {
    std::vector<std::size_t>& positions = all.emplace_back();
    for (const std::size_t unit : part)
      positions.insert(positions.end(), missing.units[unit].positions.begin(),
                       missing.units[unit].positions.end());
    std::ranges::sort(positions);
  }
  return all;
}

int submit(const SubmitCommand& command) {
  check_options(command);
  const Study study = load_study(command.study, command.overrides.overrides());
  catch_interrupts();
  const std::vector<SweepPoint> points = sweep_points(study);
  const ResultStudy sweep = result_study(study, points);
  open_sink_to_look(command.database);  // another file than ours is refused before anything is made
  const SlurmLock lock(command.database);
  const Missing missing = missing_points(command, study, points, sweep.id);
  fmt::print("{}: {}, {} done, {} in the queue or running, {} to submit{}\n", printable(study.name),
             counted(points.size(), "point"), missing.done, missing.in_work, missing.to_submit(),
             missing.unneeded > 0 ? fmt::format(", up to {} more seeds if needed", missing.unneeded) : "");
  if (missing.units.empty()) {
    if (missing.in_work == 0) open_sink(command.database, {})->put(sweep);  // merges what tasks spooled
    return 0;
  }
  const auto tasks = tasks_of(missing, weighted(command, study, missing), command.tasks);
  const SubmittedJob job = submit_array(
      {command.database, sweep, tasks, {.options = command.options, .command = task_command(command)}});
  fmt::print("Submitted {} as job {}, {}; `simsgd sweep status {}` tells how far they are.\n",
             printable(job.script.string()), printable(job.id), counted(tasks.size(), "task"),
             printable(command.database));
  return 0;
}

}  // namespace

void add_sweep_submit(CLI::App& sweep, ExitCode& exit_code) {
  CLI::App* verb = sweep.add_subcommand(
      "submit", "Submit the missing points to Slurm as a job array, and return; run it again to continue");
  auto command = std::make_shared<SubmitCommand>();
  verb->add_option("STUDY", command->study, "A study or scenario file")->required();
  verb->add_option(
          "-o,--output", command->database,
          "Keep results in this SQLite file, on a file system that all machines see; the job script goes to F.db.slurm")
      ->type_name("F.db")
      ->required();
  verb->add_option("--slurm", command->options, "Options of sbatch, such as \"-p test --cpus-per-task=2\"")
      ->type_name("OPTIONS");
  verb->add_option("--tasks", command->tasks, "Number of tasks of the array, of about equal cost")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostTasks));
  verb->add_option(
          "--estimate", command->try_s,
          "Run a few points here for about this long in total, to make tasks equally long; 0: balance by workers x steps")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  verb->add_option("--timeout", command->timeout_s, "End a point that takes longer, and count it as failed")
      ->type_name("SECONDS")
      ->check(above_zero());
  command->overrides.add_to(*verb);
  verb->footer(
      "If seeds continue until the result is certain, one task runs all seeds of a combination.\n"
      "Failed points are submitted again, points of waiting or running tasks are not. Once all are done, it merges them into F.db, as `sweep run` does.\n"
      "Example:\n  simsgd sweep submit scenarios/quickstart.json -o results.db --slurm \"-p test\" --tasks 2");
  verb->callback([command, &exit_code] { exit_code.value = submit(*command); });
}

}  // namespace simsgd

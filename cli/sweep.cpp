// simsgd sweep: the points of a study, several at a time, stored, resumed and summed up; the points and what
// they will need (plan); how far the sweeps of a file are (status).
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>

#include "analysis/faces/table.hpp"
#include "analysis/runner.hpp"
#include "analysis/runs/sweep.hpp"
#include "analysis/runs/sweep_status.hpp"
#include "cli/sweep_output.hpp"
#include "cli/terminal.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

void add_sweep_submit(CLI::App& sweep, ExitCode& exit_code);  // sweep_submit.cpp

namespace {

// Whether a seed is needed depends on those before it.
void check_whole_cells(const Shard& shard, const Study& study) {
  std::map<std::size_t, bool> named;  // by cell: as its first point
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const bool has = std::ranges::binary_search(shard.positions, i);
    if (named.emplace(study.points[i].cell, has).first->second == has) continue;
    throw ConfigError({"--points", "",
                       "names only some seeds of a combination, which runs seeds until its mean is certain",
                       std::to_string(i + (has ? 1 : 0)),
                       "Name all of its seeds, or use --shard, which keeps them together"});
  }
}

Shard listed_points(const SweepCommand& command, const Study& study) {
  std::string text = command.points;
  if (text == "-" && command.study == "-")
    throw ConfigError(
        {"--points", "", "reads standard input, and so does STUDY", text, "Give one of them as a file"});
  if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
  Shard shard = parse_points(text);
  if (shard.positions.back() >= study.points.size())
    throw ConfigError({"--points", "", "names a point that the study does not have",
                       std::to_string(shard.positions.back() + 1),
                       fmt::format("Write numbers from 1 to {}", study.points.size())});
  if (study.seed_rule) check_whole_cells(shard, study);
  return shard;
}

SweepSettings sweep_settings(const SweepCommand& command, const Study& study) {
  SweepSettings settings;
  if (!command.shard.empty()) settings.shard = parse_shard(command.shard);
  if (!command.points.empty()) settings.shard = listed_points(command, study);
  const int points = static_cast<int>(study.points.size());
  settings.jobs = std::min(command.jobs > 0 ? command.jobs : available_threads(), std::max(1, points));
  settings.threads = command.threads > 0 ? command.threads : std::max(1, available_threads() / settings.jobs);
  settings.force = command.force;
  if (command.timeout_s > 0) settings.timeout_s = command.timeout_s;
  if (!command.memory.empty())
    settings.memory_bytes =
        quantity_option("--memory", command.memory, Dimension::bytes, kNoMemory, kSuchMemory);
  settings.database = command.database;
  settings.artifacts = command.artifacts;
  settings.interrupted = interrupted;
  settings.documents = command.documents || command.json;
  settings.draws = command.draws;
  return settings;
}

/// On stderr, where it takes a while: at once, and as it goes on.
void say_preparing(const Study& study, SweepSettings& settings) {
  constexpr std::size_t kMany = 10000;
  const std::size_t points = study.points.size();
  if (points < kMany) return;
  fmt::print(stderr, "Preparing {} ...\n", counted(points, "point"));
  settings.ready = [points, progress = std::make_shared<Progress>("Preparing", points)](std::size_t done) {
    done < points ? progress->at(done) : progress->finish();
  };
}

/// `sweep run`; returns the exit code.
int run_sweep_command(const SweepCommand& command) {
  const Study study = expand_study(command.study, command.overrides.overrides());
  SweepSettings settings = sweep_settings(command, study);
  say_preparing(study, settings);
  catch_interrupts();
  SweepOutput output(command, settings, study.name);
  try {
    run_sweep(study, settings, output.listener());
  } catch (const Interrupted&) {
    output.stopped();
    throw;
  }
  return output.finish();
}

std::string about(double bytes) { return "about " + human_bytes(bytes); }

struct PlannedPoint {
  std::string memory = "-", time = "-";
};

void print_totals(const Study& study, const SweepSettings& settings,
                  const std::vector<PointEstimate>& estimates, const TimeEstimates& times, double before_s) {
  if (study.left_out > 0)
    fmt::print("\n{} more {} left out by \"exclude\".\n", study.left_out,
               study.left_out == 1 ? "combination is" : "combinations are");
  if (study.seed_rule)
    fmt::print("\nEach combination runs {} to {} seeds, until the mean of {} is certain to {:g} %.\n",
               study.seed_rule->at_least, study.seed_rule->at_most, study.seed_rule->metric,
               100 * study.seed_rule->half_width);
  if (!estimates.empty())
    fmt::print("\nAt most {} at a time need {}; this machine has {}.\n", settings.jobs,
               about(memory_at_once_bytes(estimates, settings.jobs)), human_bytes(machine_memory_bytes()));
  int runs = 0;
  for (const PointEstimate& each : estimates) runs += runs_with_intervals(each.runs_per_draw, settings.draws);
  if (runs > static_cast<int>(estimates.size()))
    fmt::print("With {} for intervals, that is {} runs.\n",
               counted(static_cast<std::uint64_t>(settings.draws), "draw"), runs);
  if (times.tried == 0) return;
  fmt::print("{} at a time take {} {}{}, estimated from {}.\n", settings.jobs,
             times.open_ended ? "more than" : "about",
             human_time(before_s + wall_of_all_s(times.wall_s, settings.jobs)),
             study.seed_rule ? fmt::format(" with {} seeds each", study.seed_rule->at_least) : "",
             counted(static_cast<std::uint64_t>(times.tried), "trial run"));
}

int plan_sweep_command(const SweepCommand& command) {
  const auto begin = std::chrono::steady_clock::now();
  const Study study = expand_study(command.study, command.overrides.overrides());
  SweepSettings settings = sweep_settings(command, study);
  say_preparing(study, settings);
  catch_interrupts();
  std::vector<SweepPoint> points = points_to_examine(study);
  const auto sink = open_sink_to_look(settings.database);
  std::vector<PointEstimate> estimates = examine_points(study, points, settings, *sink);
  SeedRounds rounds(study.seed_rule, points);
  rounds.look(points, *sink);
  rounds.decide(points);
  std::vector<SweepPoint> pending;
  for (const SweepPoint& point : points_to_run(points, settings, *sink))
    if (rounds.of(point.position) == SeedRounds::State::needed) pending.push_back(point);
  std::erase_if(estimates, [&](const PointEstimate& each) {
    return rounds.of(each.position) != SeedRounds::State::needed;
  });
  // A sweep begins with the same.
  const double before_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  TimeEstimates times;
  if (command.try_s > 0)
    times = estimate_times(study, pending, estimates,
                           {.jobs = settings.jobs,
                            .threads = settings.threads,
                            .try_s = command.try_s,
                            .draws = command.draws,
                            .interrupted = interrupted});
  std::map<std::size_t, PlannedPoint> needs;
  for (std::size_t i = 0; i < pending.size(); ++i)
    needs[pending[i].position].time = times.tried > 0 ? human_time(times.wall_s[i]) : "-";
  for (const PointEstimate& each : estimates) needs[each.position].memory = about(each.memory_bytes);
  Table table;
  table.header = {"point", "", "state", "memory", "time"};
  table.align = "lll";
  std::size_t of_shard = 0, unneeded = 0;
  for (const SweepPoint& point : points) {
    if (!settings.shard.has(point)) continue;
    ++of_shard;
    const auto to_run = needs.find(point.position);
    const auto state = rounds.of(point.position);
    const bool open = state != SeedRounds::State::needed;
    unneeded += open ? 1U : 0U;
    const PlannedPoint its = to_run == needs.end() ? PlannedPoint() : to_run->second;
    table.rows.push_back({std::to_string(point.position + 1), point.point.label,
                          state == SeedRounds::State::undecided ? "if needed"
                          : open                                ? "not needed"
                          : to_run == needs.end()               ? "done"
                                                                : "to run",
                          its.memory, its.time});
  }
  fmt::print("{}: {}, {} done, {} to run{}\n\n{}", printable(study.name), counted(of_shard, "point"),
             of_shard - pending.size() - unneeded, pending.size(),
             unneeded > 0 ? fmt::format(", up to {} more seeds if needed", unneeded) : "", text_rows(table));
  print_totals(study, settings, estimates, times, before_s);
  return 0;
}

struct NamedState {
  PointState state;
  const char* name;
};
constexpr std::array<NamedState, 5> kStates = {{{PointState::done, "done"},
                                                {PointState::running, "running"},
                                                {PointState::queued, "queued"},
                                                {PointState::failed, "failed"},
                                                {PointState::missing, "missing"}}};

struct StatusCommand {
  std::string database;
  bool json = false;
};

void print_status(const SweepStatus& status) {
  Table table;
  table.header = {"study", "points", "done", "running", "queued", "failed", "missing"};
  for (const SweepStanding& each : status.sweeps) {
    std::vector<std::string> row = {printable(each.sweep.name), std::to_string(each.points.size())};
    for (const auto& [state, name] : kStates) row.push_back(std::to_string(each.count(state)));
    table.rows.push_back(std::move(row));
  }
  fmt::print("{}", text_rows(table));
  for (const SweepStanding& each : status.sweeps)
    for (std::size_t i = 0; i < each.points.size(); ++i)
      if (each.points[i] == PointState::failed)
        fmt::print("failed: {}, point {}{}{}\n", printable(each.sweep.name), i + 1,
                   each.sweep.points[i].label.empty() ? "" : ": ", printable(each.sweep.points[i].label));
  if (status.queue_unknown)
    fmt::print(stderr,
               "squeue is not installed here, so waiting and running tasks of Slurm count as missing.\n");
}

void print_status_json(const SweepStatus& status) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const SweepStanding& each : status.sweeps) {
    nlohmann::ordered_json sweep = {{"study", each.sweep.name}, {"points", each.points.size()}};
    for (const auto& [state, name] : kStates) {
      nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < each.points.size(); ++i)
        if (each.points[i] == state) numbers.push_back(i + 1);
      sweep[name] = numbers;
    }
    all.push_back(std::move(sweep));
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"sweeps", all}, {"queue_known", !status.queue_unknown}}.dump());
}

void add_status(CLI::App& sweep) {
  CLI::App* verb =
      sweep.add_subcommand("status", "Show how far the sweeps of a file are: done, running, queued, missing");
  auto command = std::make_shared<StatusCommand>();
  verb->add_option("FILE", command->database,
                   "The F.db of `sweep run` or `sweep submit`; the files beside it are read too")
      ->type_name("F.db")
      ->required();
  verb->add_flag("--json", command->json, "As JSON, with the numbers of the points in each state");
  verb->footer(
      "A point of a sweep without --shard shows once it is done.\n"
      "Example:\n  simsgd sweep status results.db");
  verb->callback([command] {
    const SweepStatus status = sweep_status(command->database);
    command->json ? print_status_json(status) : print_status(status);
  });
}

void add_common_options(CLI::App& verb, SweepCommand& command) {
  verb.add_option("STUDY", command.study, "A study or scenario file, or - for standard input")->required();
  verb.add_option("-o,--output", command.database,
                  "Keep results in this SQLite file, and skip points that it has")
      ->type_name("F.db");
  verb.add_option("--jobs", command.jobs,
                  "Points in parallel (default: all cores); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  CLI::Option* shard =
      verb.add_option(
              "--shard", command.shard,
              "Run only part I of N of the points; results go to F.db.spool, and a sweep without --shard merges them")
          ->type_name("I/N");
  verb.add_option(
          "--points", command.points,
          "Run only these points, numbered as in `sweep plan`, such as 1-4,9; - reads them from standard input. Results go to F.db.spool, as with --shard")
      ->type_name("LIST")
      ->excludes(shard);
  command.overrides.add_to(verb);
}

}  // namespace

void add_sweep(CLI::App& app, ExitCode& exit_code) {
  CLI::App* sweep = app.add_subcommand("sweep", "Run all points of a study in parallel");
  sweep->require_subcommand(1);
  sweep->footer(
      "Examples:\n  simsgd sweep plan scenarios/quickstart.json\n"
      "  simsgd sweep run scenarios/quickstart.json -o results.db --artifacts out\n"
      "  simsgd sweep submit scenarios/quickstart.json -o results.db --slurm \"-p test\" --tasks 2\n"
      "  simsgd sweep status results.db");

  CLI::App* run =
      sweep->add_subcommand("run", "Run the points that are not done, and print a summary of all");
  auto command = std::make_shared<SweepCommand>();
  add_common_options(*run, *command);
  run->add_option(
         "--threads", command->threads,
         "Threads for training in each point (default: the cores that --jobs leaves); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  run->add_option(
         "--draws", command->draws,
         "Runs of each point with drawn parameters and seeds on a calibrated cluster, for intervals; 0: no intervals. Points that are done keep theirs")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  run->add_option("--artifacts", command->artifacts,
                  "Write document, curves and timeline of each point below DIR")
      ->type_name("DIR");
  run->add_option("--timeout", command->timeout_s, "End a point that takes longer, and count it as failed")
      ->type_name("SECONDS")
      ->check(above_zero());
  run->add_flag(
      "--documents", command->documents,
      "Keep the whole document of each point, with a row for every worker and 64 links, compressed; a point without one is run again");
  run->add_option(
         "--memory", command->memory,
         "End a point whose process uses more memory, and count it as failed; checked ten times a second")
      ->type_name("BYTES");
  run->add_flag("--force", command->force, "Also run the points that are already done");
  run->add_flag("--check", command->check, "Compare with the expected values; exit 1 if one is missed");
  run->add_flag(
      "--json", command->json,
      "Print a document per line, in the order of the points, instead of a table; of a point that failed, its \"scenario\" and its \"error\". Keeps documents, as --documents");
  run->footer(
      "Exit codes: 0 done; 1 an expected value is missed; 2 usage or input; 3 some points failed; 130 interrupted.\n"
      "Example:\n  simsgd sweep run scenarios/quickstart.json -o results.db --artifacts out");
  run->callback([command, &exit_code] { exit_code.value = run_sweep_command(*command); });

  CLI::App* plan = sweep->add_subcommand(
      "plan",
      "List the points: which are done, which are still to run, and how much memory and time they need");
  auto planned = std::make_shared<SweepCommand>();
  add_common_options(*plan, *planned);
  plan->add_option("--estimate", planned->try_s,
                   "Run a few points for about this long in total, to estimate times; 0: no estimate")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  plan->footer("Example:\n  simsgd sweep plan scenarios/quickstart.json -o results.db");
  plan->callback([planned, &exit_code] { exit_code.value = plan_sweep_command(*planned); });
  add_sweep_submit(*sweep, exit_code);
  add_status(*sweep);
}

}  // namespace simsgd

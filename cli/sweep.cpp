#include "cli/sweep.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>

#include "analysis/runs/sweep.hpp"
#include "cli/progress.hpp"
#include "cli/sweep_output.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

// Whether a seed is needed depends on those before it.
void check_whole_cells(const Shard& shard, const Study& study) {
  std::map<std::size_t, bool> named;  // by cell: as its first point
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const bool has = std::binary_search(shard.positions.begin(), shard.positions.end(), i);
    if (named.emplace(study.points[i].cell, has).first->second == has) continue;
    throw ConfigError({"--points", "",
                       "names some seeds of a combination whose seeds go on until it is certain",
                       std::to_string(i + (has ? 1 : 0)),
                       "Name all of its seeds, or use --shard, which leaves them together"});
  }
}

Shard listed_points(const SweepCommand& command, const Study& study) {
  std::string text = command.points;
  if (text == "-" && command.study == "-")
    throw ConfigError(
        {"--points", "", "and STUDY are both standard input", text, "Name the file of one of them"});
  if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
  Shard shard = parse_points(text);
  if (shard.positions.back() >= study.points.size())
    throw ConfigError({"--points", "", "names a point that the study does not have",
                       std::to_string(shard.positions.back() + 1),
                       fmt::format("Write numbers from 1 to {}", study.points.size())});
  if (study.seed_rule) check_whole_cells(shard, study);
  return shard;
}

void add_common_options(CLI::App& verb, SweepCommand& command) {
  verb.add_option("STUDY", command.study, "A study or scenario file, or - for standard input")->required();
  verb.add_option("-o,--output", command.database,
                  "Keep results in this SQLite file, and skip points that it has")
      ->type_name("F.db");
  verb.add_option("--jobs", command.jobs,
                  "Points at a time (default: all cores); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  CLI::Option* shard =
      verb.add_option(
              "--shard", command.shard,
              "Only the I-th of N parts of the points; results go to F.db.spool, and the sweep without --shard merges them")
          ->type_name("I/N");
  verb.add_option(
          "--points", command.points,
          "Only these points, as `sweep plan` counts them, such as 1-4,9; - reads them from standard input. Results go where those of a shard go")
      ->type_name("LIST")
      ->excludes(shard);
  command.overrides.add_to(verb);
}

}  // namespace

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

void say_preparing(const Study& study, SweepSettings& settings) {
  constexpr std::size_t kMany = 10000;
  const std::size_t points = study.points.size();
  if (points < kMany) return;
  fmt::print(stderr, "Preparing {} points ...\n", points);
  settings.ready = [points, progress = std::make_shared<Progress>("Preparing", points)](std::size_t done) {
    done < points ? progress->at(done) : progress->finish();
  };
}

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

void add_sweep(CLI::App& app, ExitCode& exit_code) {
  CLI::App* sweep = app.add_subcommand("sweep", "Run all points of a study, several at a time");
  sweep->require_subcommand(1);
  sweep->footer(
      "Examples:\n  simsgd sweep plan scenarios/quickstart.json\n"
      "  simsgd sweep run scenarios/quickstart.json -o results.db --artifacts out\n"
      "  simsgd sweep submit scenarios/quickstart.json -o results.db --slurm \"-p test\" --tasks 2\n"
      "  simsgd sweep status results.db");

  CLI::App* run = sweep->add_subcommand("run", "Run the points that are not done, and sum up all");
  auto command = std::make_shared<SweepCommand>();
  add_common_options(*run, *command);
  run->add_option(
         "--threads", command->threads,
         "Threads of each point's numerics (default: the cores that --jobs leave); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  run->add_option(
         "--draws", command->draws,
         "Runs of each point with drawn parameters and seeds on a calibrated cluster, for intervals; 0: none. Points that are done keep theirs")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  run->add_option("--artifacts", command->artifacts,
                  "Write document, curves and timeline of each point below DIR")
      ->type_name("DIR");
  run->add_option("--timeout", command->timeout_s, "End a point that takes longer, and count it as failed")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  run->add_flag(
      "--documents", command->documents,
      "Keep the whole document of each point, with a row for every worker and 64 links, compressed; a point that was kept without is run again");
  run->add_option(
         "--memory", command->memory,
         "End a point whose process needs more, and count it as failed; looked at ten times a second")
      ->type_name("BYTES");
  run->add_flag("--force", command->force, "Run also the points that are done");
  run->add_flag("--check", command->check, "Compare with the expected values; exit 1 if one is missed");
  run->add_flag(
      "--json", command->json,
      "Print a document per line, in the order of the points, instead of a table; of a point that failed, its \"scenario\" and its \"error\". Keeps documents, as --documents");
  run->footer(
      "Exit codes: 0 done; 1 an expected value is missed; 2 usage or input; 3 some points failed; 130 interrupted.\n"
      "Example:\n  simsgd sweep run scenarios/quickstart.json -o results.db --artifacts out");
  run->callback([command, &exit_code] { exit_code.value = run_sweep_command(*command); });

  CLI::App* plan = sweep->add_subcommand(
      "plan", "List the points: what is done, what is to run, how much memory and time it needs");
  auto planned = std::make_shared<SweepCommand>();
  add_common_options(*plan, *planned);
  plan->add_option("--estimate", planned->try_s,
                   "Try a few points for about this long together, to estimate times; 0: none")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  plan->footer("Example:\n  simsgd sweep plan scenarios/quickstart.json -o results.db");
  plan->callback([planned, &exit_code] { exit_code.value = plan_sweep_command(*planned); });
  add_sweep_submit(*sweep, exit_code);
  add_sweep_status(*sweep, exit_code);
}

}  // namespace simsgd

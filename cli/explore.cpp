// simsgd explore: a report that is served, and simulates what its visitors ask for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "analysis/faces/figures.hpp"
#include "analysis/faces/live/explore.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct ExploreVerb {
  std::string path, output, memory = "4GB";
  OverrideOptions overrides;
  int port = 0, jobs = 0, threads = 0;
  std::size_t points = 1000;
  double timeout_s = 300;
};

/// What draws, or nothing: the page has its tables without.
std::string libraries() {
  try {
    return faces::web_libraries();
  } catch (const ConfigError&) {
    fmt::print(
        stderr,
        "The page has tables but no charts: Vega, which draws them, is not installed (./setup.sh web).\n");
    return "";
  }
}

void say(int port, const live::Source& source) {
  for (const std::string& reason : source.reasons) fmt::print(stderr, "{}\n", printable(reason));
  if (!source.is_kept) fmt::print(stderr, "Runs are deleted when the server stops; -o F.db keeps them.\n");
  fmt::print(stderr, "Serving on this machine only; stop with Ctrl-C.\n");
  fmt::print("http://127.0.0.1:{}/\n", port);
  std::fflush(stdout);
}

int explore_command(const ExploreVerb& verb) {
  live::ExploreSettings settings;
  settings.jobs = verb.jobs > 0 ? verb.jobs : available_threads();
  settings.threads = verb.threads > 0 ? verb.threads : std::max(1, available_threads() / settings.jobs);
  settings.memory_bytes = quantity_option("--memory", verb.memory, Dimension::bytes, kNoMemory, kSuchMemory);
  settings.source = {verb.path, verb.output, verb.overrides.overrides(), settings.jobs, interrupted};
  settings.port = verb.port;
  settings.timeout_s = verb.timeout_s;
  settings.points = verb.points;
  settings.libraries = libraries();
  settings.interrupted = interrupted;
  settings.listening = say;
  catch_interrupts();
  live::explore(settings);
}

}  // namespace

void add_explore(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "explore", "Serve an interactive report on this machine: sliders simulate new points");
  auto settings = std::make_shared<ExploreVerb>();
  verb->add_option(
          "F.db|SCENARIO", settings->path,
          "Results of simsgd sweep run -o, to which points are added; or a study; or a scenario, whose number of workers then varies")
      ->required();
  verb->add_option("-o,--output", settings->output,
                   "Keep the runs of a study in this SQLite file, as sweep run does")
      ->type_name("F.db");
  verb->add_option("--port", settings->port, "Port to listen on; 0: any free port")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  verb->add_option("--jobs", settings->jobs, "Points in parallel (default: all cores)")
      ->check(CLI::Range(1, kMostThreads));
  verb->add_option("--threads", settings->threads,
                   "Threads for training in each point (default: the cores that --jobs leaves)")
      ->check(CLI::Range(1, kMostThreads));
  verb->add_option("--points", settings->points, "Simulate at most this many points")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  verb->add_option("--timeout", settings->timeout_s, "End a point that takes longer")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(above_zero());
  verb->add_option("--memory", settings->memory, "End a point whose process uses more memory")
      ->type_name("BYTES")
      ->capture_default_str();
  settings->overrides.add_to(*verb);
  verb->footer(
      "The address goes to standard output. Exit codes: 1 a file could not be written; 2 usage or input; 130 interrupted, as by Ctrl-C.\n"
      "Example:\n  simsgd explore scenarios/quickstart.json -o results.db");
  verb->callback([settings, &exit_code] { exit_code.value = explore_command(*settings); });
}

}  // namespace simsgd

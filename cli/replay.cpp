// simsgd replay: a recorded job's operations played again, as they were and as they might have been.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/replay/report.hpp"
#include "analysis/runner.hpp"
#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "results/document.hpp"
#include "results/run_files.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr int kMostReplayWorkers = 1 << 16;
constexpr int kMostReplayDraws = 10000;

struct ReplayVerb {
  std::vector<std::string> files;
  std::string output, heal, network;
  replay::ReplayOptions options;
  bool json = false, strict = false, no_inferred = false;
};

std::vector<int> workers_of(const std::string& list) {
  std::vector<int> workers;
  std::vector<InputError> errors;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string text = list.substr(begin, end - begin);
    const int worker = number_of_text<int>(text).value_or(-1);
    if (worker < 0)
      errors.push_back({"--heal", "", "does not list workers", printable(text),
                        "Write numbers of workers, such as 3 or 3,4"});
    if (std::ranges::find(workers, worker) == workers.end()) workers.push_back(worker);
    begin = end + 1;
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return workers;
}

// "2x", "1.5", "0.5x".
double network_factor(const std::string& text) {
  const auto factor = number_of_text<double>(text.substr(0, text.size() - (text.ends_with('x') ? 1 : 0)));
  if (factor && std::isfinite(*factor) && *factor > 0) return *factor;
  throw ConfigError({"--network", "", "is not a factor above 0", printable(text),
                     "Write 2x for twice the recorded speed, 0.5x for half of it"});
}

void print_counts(const replay::ReplayReport& report) {
  for (const auto& [kind, count] : report.job.understood)
    fmt::print(stderr, "  {} ({})\n", printable(kind), count);
  for (const auto* reasons : {&report.job.ignored, &report.graph.warnings})
    for (const auto& [reason, count] : *reasons)
      fmt::print(stderr, "  WARNING: {} ({})\n", printable(reason), count);
}

void write_files(const ReplayVerb& verb, const replay::ReplayReport& report, const OrderedJson& document) {
  const std::filesystem::path folder = verb.output;
  const auto write = [&folder](const char* name, const std::string& text) {
    write_file_atomically(folder / name, text);
    fmt::print(stderr, "{}\n", (folder / name).string());
  };
  if (!report.worker_slowdown.empty()) {
    write("heatmap.csv", replay::heat_map_csv(report));
    write("heatmap.svg", replay::heat_map_svg(report));
  }
  write("timeline.json", replay::replay_timeline(report, verb.options));
  write("replay.json", document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

int run_replay(ReplayVerb verb) {
  if (!verb.heal.empty()) verb.options.heal = workers_of(verb.heal);
  if (!verb.network.empty()) verb.options.network = network_factor(verb.network);
  if (verb.options.workers > 0 && (verb.options.ideal || !verb.options.heal.empty()))
    throw ConfigError({"--workers", "", "cannot be combined with --ideal or --heal", "",
                       "Drop these: the ideal is reported for every number of workers"});
  verb.options.infer = !verb.no_inferred;
  const OutputDirectory directory(verb.output);
  RecordedJob job = read_recorded_job(verb.files);
  if (verb.strict && !job.skipped.empty()) throw ConfigError(std::move(job.skipped));
  const replay::ReplayReport report = replay::replay_job(std::move(job), verb.options);
  OrderedJson document = {{"schema_version", 1}, {"context", to_json(with_machine(build_context()))}};
  document.update(replay::replay_document(report));
  if (verb.json)
    fmt::print("{}\n", document.dump(2, ' ', false, OrderedJson::error_handler_t::replace));
  else
    fmt::print("{}", replay::replay_text(report));
  print_counts(report);
  if (!verb.output.empty()) write_files(verb, report, document);
  return 0;
}

}  // namespace

void add_replay(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("replay", "Replay the operations of a recorded job, and ask what if");
  auto settings = std::make_shared<ReplayVerb>();
  verb->add_option(
          "TRACE", settings->files,
          "What a job did: a table (CSV) or a timeline (Chrome JSON) of operations, a run's timeline.json or steps.csv, or Kineto files of all its ranks; plain or gzip, or - for standard input")
      ->required();
  verb->add_flag("--ideal", settings->options.ideal, "What if all operations of a kind took the same time?");
  verb->add_option(
          "--heal", settings->heal,
          "What if these workers were like their peers (the same stage of other replicas; for a whole stage, other stages)?")
      ->type_name("W[,W]")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  verb->add_option("--network", settings->network,
                   "What if the network were this many times as fast (such as 2x)?")
      ->type_name("FACTOR");
  verb->add_option(
          "--workers", settings->options.workers,
          "What if there were up to this many workers, with stragglers drawn from the recorded ones?")
      ->type_name("N")
      ->check(CLI::Range(1, kMostReplayWorkers));
  verb->add_option("--draws", settings->options.draws, "Draws for each number of workers")
      ->type_name("N")
      ->check(CLI::Range(1, kMostReplayDraws))
      ->capture_default_str();
  verb->add_option("--seed", settings->options.seed, "Seed of the draws")
      ->type_name("N")
      ->capture_default_str();
  verb->add_flag("--no-inferred", settings->no_inferred,
                 "Treat unexplained waiting as gaps, not as an unrecorded barrier");
  verb->add_flag(
      "--strict", settings->strict,
      "Refuse events of negative length and duplicate steps, which are otherwise skipped and counted");
  verb->add_flag("--json", settings->json, "One JSON document instead of a summary");
  verb->add_option("-o,--output", settings->output,
                   "Write a heat map, a timeline for Perfetto and the document into this folder")
      ->type_name("DIR");
  verb->footer("Example:\n  simsgd replay ops.csv.gz --heal 3 -o healed");
  verb->callback([settings, &exit_code] { exit_code.value = run_replay(*settings); });
}

}  // namespace simsgd

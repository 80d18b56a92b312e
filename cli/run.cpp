// simsgd run: one scenario, one result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/python/method.hpp"
#include "analysis/runner.hpp"
#include "cli/measurements_library.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "results/expected.hpp"
#include "results/run_files.hpp"
#include "results/summary.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/study.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

/// `run S --on CLUSTER --workload FILE --workers N`: another machine, another network, without editing the
/// scenario.
struct RunOnOptions {
  std::string cluster, workload;
  int workers = 0;
  const CLI::Option* workers_option = nullptr;

  void add_to(CLI::App& verb);
  /// `overrides`, after what these options set. What they do not say (workers, batch) stays as the scenario
  /// has it, which `overrides` have a say in. Throws ConfigError.
  Overrides before(Overrides overrides, const std::string& scenario) const;
};

/// As `use` takes it wherever the scenario lies.
std::string found_file(const std::string& option, const std::string& name) {
  const FoundFile found = find_file(name, "");
  if (found.path.empty()) throw ConfigError({option, "", "does not exist", name, found.remedy});
  return std::filesystem::absolute(found.path).string();
}

/// A workload's file, or what a recorded job shows of its network. `own_batch`: the scenario's, which a trace
/// that does not name its batch was recorded at.
Json workload_of(const std::string& path, const std::function<Json()>& own_batch) {
  if (path.ends_with(".json")) {
    Json json = Json::parse(read_file(path), nullptr, false, true);
    for (const char* key : {"layers", "step_time", "step_cost", "use"})
      if (json.is_object() && json.contains(key)) {
        Json workload = {{"use", path}};
        if (json.contains("batch")) workload["batch"] = json["batch"];
        return workload;
      }
  }
  return measurements_library().recorded_workload(path, own_batch);
}

void RunOnOptions::add_to(CLI::App& verb) {
  verb.add_option("--on", cluster,
                  "Simulate on this cluster, for example one from calibrate, instead of the scenario's")
      ->type_name("CLUSTER");
  verb.add_option(
          "--workload", workload,
          "Train the network of this workload file, or of a trace of one rank (see simsgd import), with its host gaps")
      ->type_name("FILE");
  workers_option =
      verb.add_option("--workers", workers, "Simulate this many workers, instead of the scenario's")
          ->type_name("N")
          ->check(above_zero());
}

Overrides RunOnOptions::before(Overrides overrides, const std::string& scenario) const {
  std::vector<std::pair<std::string, std::string>> set;
  const bool has_workers = workers_option->count() > 0;
  Json own;  // the scenario without these options, read where something of it stays
  const auto stays = [&](const char* section, const char* key) {
    if (own.is_null()) own = load_numbered_point(scenario, 0, overrides).scenario.resolved;
    return own.at(section).at(key);
  };
  if (!cluster.empty()) {
    Json section = {{"use", found_file("--on", cluster)}};
    section["workers"] = has_workers ? Json(workers) : stays("cluster", "workers");
    set.emplace_back("/cluster", section.dump());
  } else if (has_workers) {
    set.emplace_back("/cluster/workers", std::to_string(workers));
  }
  if (!workload.empty()) {
    Json section =
        workload_of(found_file("--workload", workload), [&] { return stays("workload", "batch"); });
    if (!section.contains("batch")) section["batch"] = stays("workload", "batch");
    set.emplace_back("/workload", section.dump());
  }
  overrides.set.insert(overrides.set.begin(), set.begin(), set.end());
  return overrides;
}

struct RunVerb {
  std::string scenario, directory, chakra, python;
  OverrideOptions overrides;
  RunOnOptions on;
  bool json = false, check = false, steps = false, simgrid = false;
  int threads = 0, draws = kUsualDraws;
  std::int64_t point = 0;
  const CLI::Option* point_option = nullptr;
};

NumberedPoint chosen(const RunVerb& verb) {
  Overrides overrides = verb.on.before(verb.overrides.overrides(), verb.scenario);
  if (!verb.python.empty()) overrides.set.insert(overrides.set.begin(), python_override(verb.python));
  if (verb.point_option->count() > 0) return load_numbered_point(verb.scenario, verb.point, overrides);
  return {load_scenario(verb.scenario, overrides), ""};
}

SimulationOptions simulation_options(const RunVerb& verb, const std::shared_ptr<Progress>& progress) {
  SimulationOptions options;
  options.threads = verb.threads > 0 ? verb.threads : available_threads();
  options.progress = [progress](std::uint64_t step) { progress->at(step); };
  options.interrupted = interrupted;
  options.timeline = !verb.directory.empty();
  if (verb.simgrid) let_simgrid_keep_time(options);
  return options;
}

// What a job does, heard while it runs and written afterwards.
class ChakraExport {
 public:
  explicit ChakraExport(const Scenario& scenario)
      : job_(make_job(scenario)),
        recorder_(job_.workload, {job_.name, job_.cluster.device.name, job_.workers()}) {}

  Observer* observer() { return &recorder_; }

  int workers() const { return job_.workers(); }

  /// That files are called by.
  std::string name() const {
    std::string name = job_.name;
    for (char& c : name)
      if (!is_portable(c)) c = '_';
    return name;
  }

  void write(const std::string& directory) const {
    const std::string name = this->name();
    write_chakra(recorder_, name, directory);
    fmt::print(stderr, "chakra    {}/{}.RANK.et: the first {} steps of {} ranks{}\n", directory, name,
               recorder_.steps(), recorder_.workers(),
               recorder_.approximate()
                   ? "; communication slows computing here: ends of layers are approximate"
                   : "");
  }

 private:
  static bool is_portable(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }

  Job job_;
  ChakraRecorder recorder_;
};

int run(const RunVerb& verb) {
  const auto [scenario, label] = chosen(verb);
  const OutputDirectory directory(verb.directory);
  std::optional<ChakraExport> chakra;
  std::optional<ChakraDirectory> traces;
  if (!verb.chakra.empty()) {
    chakra.emplace(scenario);
    traces.emplace(verb.chakra, chakra->name(), chakra->workers(), "--chakra");
  }
  catch_interrupts();
  const Json& stop = scenario.resolved.at("stop");
  const auto progress = std::make_shared<Progress>(
      "Simulating", stop.contains("steps") ? stop.at("steps").get<std::uint64_t>() : 0);
  const auto drawing = std::make_shared<Progress>("Drawing parameters", 0);
  const IntervalSettings intervals{.draws = verb.draws,
                                   .jobs = available_threads(),
                                   .progress = [drawing](std::size_t done, std::size_t all) {
                                     drawing->at(done);
                                     if (done == all) drawing->finish();
                                   }};
  SimulationOptions options = simulation_options(verb, progress);
  if (chakra) options.observers.push_back(chakra->observer());
  std::optional<StepLog> log;
  if (verb.steps) options.observers.push_back(&log.emplace(0, make_job(scenario).workers()));
  RunOutcome outcome = run_with_intervals(scenario, options, intervals);
  if (log) outcome.steps = log->rows();
  progress->finish();
  if (interrupted()) throw Interrupted();
  if (chakra) chakra->write(verb.chakra);
  RunFiles files;
  if (!verb.directory.empty()) files = write_run(outcome, verb.directory);
  const std::string title = label.empty() ? title_of(outcome.document, scenario.file) : label;
  fmt::print("{}", verb.json
                       ? outcome.document.dump() + "\n"
                       : with_wrapped_notes(run_summary(outcome.document, title, files), terminal_width()));
  if (!verb.check) return 0;
  const std::vector<ExpectedOutcome> outcomes = compare_expected(outcome.document);
  fmt::print(verb.json ? stderr : stdout, "\n{}", expected_table(outcomes));
  return all_hold(outcomes) ? 0 : 1;
}

}  // namespace

void add_run(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("run", "Simulate one scenario");
  auto settings = std::make_shared<RunVerb>();
  verb->add_option("SCENARIO", settings->scenario, "A scenario file, a pipe, or - for standard input")
      ->required();
  settings->on.add_to(*verb);
  settings->overrides.add_to(*verb);
  verb->add_option("-o,--output", settings->directory,
                   "Write the document, the curves and the timeline into DIR")
      ->type_name("DIR");
  verb->add_option(
          "--chakra", settings->chakra,
          "Write computing and communication of each rank as Chakra execution traces, DIR/NAME.RANK.et, for example for ASTRA-sim")
      ->type_name("DIR");
  verb->add_option("--python", settings->python,
                   "Train with the method in this Python file, instead of the scenario's algorithm")
      ->type_name("FILE");
  verb->add_flag("--steps", settings->steps, "Also write DIR/steps.csv: every worker and step")->needs("-o");
  settings->point_option =
      verb->add_option(
              "--point", settings->point,
              "Run this point of a study, numbered from 1 as in `sweep plan`; 0: the study without its axes")
          ->type_name("N");
  verb->add_flag("--json", settings->json, "Print the document instead of a summary");
  verb->add_flag("--check", settings->check,
                 "Compare with the scenario's expected values; exit 1 if one is missed");
  verb->add_option("--threads", settings->threads,
                   "Threads for training the small models (default: all cores); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  verb->add_flag("--simgrid", settings->simgrid,
                 "Let SimGrid keep the time and share the links: slower, and the same times to 1e-9");
  verb->add_option(
          "--draws", settings->draws,
          "Runs with drawn parameters and seeds on a calibrated cluster, for intervals; 0: no intervals")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  verb->footer(
      "Example:\n  simsgd run scenarios/papers/wagma_resnet50_wagma.json --set /cluster/workers=16 -o out");
  verb->callback([settings, &exit_code] { exit_code.value = run(*settings); });
}

}  // namespace simsgd

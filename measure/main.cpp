// simsgd-measure: runs a scenario for real, one MPI process per worker. Rank 0 speaks for all; an error of
// one rank ends all.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>

#include "algorithms/loaded_algorithms.hpp"
#include "algorithms/python/method.hpp"
#include "measure/agreement.hpp"
#include "measure/bench/verbs.hpp"
#include "measure/last_words.hpp"
#include "measure/mpi_worker.hpp"
#include "measure/packing.hpp"
#include "measure/waiting.hpp"
#include "results/document.hpp"
#include "results/run_files.hpp"
#include "results/summary.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/notes.hpp"
#include "sim/learn/numerics.hpp"

namespace {

using namespace simsgd;

struct Settings {
  std::string scenario, directory, python, schedules = "mpi";
  std::optional<std::string> compute;  // else the scenario's
  std::vector<std::string> set, plugins;
  std::optional<std::uint64_t> seed;
  bool json = false;
  RealRun how;
};

struct Ranks {
  int rank = 0, size = 1;
  bool first() const { return rank == 0; }
};

constexpr const char* kProgram = "simsgd-measure";

constexpr const char* kFooter =
    "Example:\n"
    "  mpirun -n 4 simsgd-measure run scenarios/real_run.json --set /stop/steps=500\n"
    "There is one worker per MPI rank, whatever the scenario says.\n"
    "Exit codes: 0 done; 1 the run failed; 2 usage or input. Results go to stdout, everything else to stderr.";

/// The scenario for as many workers as there are ranks.
struct Loaded {
  Scenario scenario;
  Job job;
};

// Standard input goes to rank 0 alone: it passes the text on.
class SharedInput {
 public:
  explicit SharedInput(Ranks ranks) {
    std::string text;
    if (ranks.first()) text.assign(std::istreambuf_iterator<char>(std::cin), {});
    std::uint64_t size = text.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    text.resize(size);
    MPI_Bcast(text.data(), mpi_count(size), MPI_CHAR, 0, MPI_COMM_WORLD);
    stream_.str(text);
    std::cin.rdbuf(stream_.rdbuf());
  }
  void rewind() {
    stream_.clear();
    stream_.seekg(0);
    std::cin.clear();
  }

 private:
  std::istringstream stream_;
};

/// The number of workers that the scenario asks for; nothing where it cannot be read without knowing it.
std::optional<int> workers_asked_for(const Settings& settings, const Overrides& overrides) {
  try {
    return load_scenario(settings.scenario, overrides).resolved.at("cluster").at("workers").get<int>();
  } catch (const ConfigError&) {
    return std::nullopt;  // what is wrong is said when it is loaded for this run
  }
}

/// What a real run does not take from its scenario: notes to be added to the job's own.
std::vector<Note> notes_on_real_run(const Scenario& scenario, const Job& job, const RealRun& how) {
  const bool emulates = how.emulates;
  std::vector<Note> notes;
  const auto note = [&notes](std::string text) { add_note(notes, {"real-run", std::move(text)}); };
  if (how.scenario_schedules)
    note(
        "The network is the real one between the ranks. Collectives follow the scenario's schedules, message by message. Messages carry the values, which are added up in the schedule's order.");
  else
    note(
        "The network is the real one between the ranks, and MPI chooses the schedules; the scenario's network, host costs and schedules only affect predictions. Bytes sent are those of the schedule that sends least. Exchanges between neighbours, and other operations for which a method has its own schedule, follow that schedule, message by message.");
  const bool other_workload = scenario.resolved.at("workload") != "self";
  if (!job.learner)
    note(
        "Without a learner, workers sleep for the workload's compute times, and messages carry zeros of the workload's sizes.");
  else if (emulates)
    note(fmt::format(
        "Computing is emulated: values are the learner's ({} parameters), times and message sizes those of {}. Messages are padded to the workload's sizes, or longer where the values need it.",
        job.learner->parameters(), job.workload.name));
  else if (other_workload)
    note(fmt::format("Times and message sizes are the learner's ({} parameters in fp32), not those of {}.",
                     job.learner->parameters(), job.workload.name));
  if (job.learner && !emulates && (!job.cluster.node_speed.empty() || other_workload))
    note(
        "Computing takes as long as it takes on this machine; speeds of nodes and compute factors are not applied.");
  if (job.learner && job.network.precision != Precision::fp32)
    note("Values are rounded to the scenario's precision, and travel in fp32.");
  if (job.learner && job.coding().codec) note("Values are what the codec gives, and travel in fp32.");
  if (!job.stragglers.empty()) note("Workers sleep for the delays of stragglers.");
  return notes;
}

/// Throws ConfigError where the job asks for what a real run does not have. Every role of a worker is there.
void require_roles(const Scenario& scenario, const Job& job) {
  if (job.algorithm->needs_others() || !job.target.stop) return;
  const std::string name = scenario.resolved.at("algorithm").at("name").get<std::string>();
  throw ConfigError(
      {.file = scenario.file,
       .pointer = "/target/stop",
       .problem = fmt::format(
           "cannot end a real run of {}: its workers never synchronise, so no rank knows when the target is reached",
           name),
       .found = "true",
       .remedy =
           "Give /stop a time or steps, and set /target/stop to false: time_to_target_s is then known at the end"});
}

Loaded load(const Settings& settings, Ranks ranks) {
  for (const std::string& library : settings.plugins) name_plugin_library(library);
  Overrides overrides;
  if (!settings.python.empty()) overrides.set.push_back(python_override(settings.python));
  for (const std::string& argument : settings.set) overrides.set.push_back(parse_set(argument));
  overrides.seed = settings.seed;
  std::optional<SharedInput> input;
  if (settings.scenario == "-") input.emplace(ranks);
  const std::optional<int> asked = workers_asked_for(settings, overrides);
  if (input) input->rewind();
  if (asked && *asked != ranks.size && ranks.first())
    fmt::print(stderr, "The scenario has {} workers; this run has {}, one for each MPI rank.\n", *asked,
               ranks.size);
  overrides.set.emplace_back("/cluster/workers", std::to_string(ranks.size));
  if (settings.compute) overrides.set.emplace_back("/compute", *settings.compute);
  Scenario scenario = load_scenario(settings.scenario, overrides);
  Job job = make_job(scenario);
  require_roles(scenario, job);
  return {std::move(scenario), std::move(job)};
}

/// Once ranks wait for each other, the failure of one ends all.
[[noreturn]] void end_all(Ranks ranks, const std::string& sentence) {
  constexpr double kFirst_s = 0.3, kEnded_s = 10;
  if (!ranks.first())
    nap(kFirst_s);  // what fails everywhere is said by rank 0, which ends the others meanwhile
  if (!this_rank_speaks())
    nap(kEnded_s);
  else
    fmt::print(stderr, "{}\n", sentence);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// The outcome at rank 0; elsewhere nothing.
std::optional<RunOutcome> run_job(Loaded& loaded, const RealRun& how) {
  const RunClock clock;
  MpiWorker worker(loaded.job, MPI_COMM_WORLD, how);
  worker.train();
  const RunRecord record = worker.finish();
  if (worker.rank() != 0) return std::nullopt;
  for (Note& note : notes_on_real_run(loaded.scenario, loaded.job, how))
    add_note(loaded.job.notes, std::move(note));
  for (const Note& doubt : worker.doubts()) {
    add_note(loaded.job.notes, doubt);
    fmt::print(stderr, "{}\n", doubt.text);
  }
  RunContext context = with_machine(context_of(kProgram));
  context.wall_time_s = clock.wall_s();
  RunOutcome outcome{make_document(context, loaded.scenario, loaded.job, record)};
  outcome.steps = worker.steps();
  outcome.timeline = worker.take_timeline();
  return outcome;
}

void print(const Settings& settings, const RunOutcome& outcome) {
  RunFiles files;
  if (!settings.directory.empty()) files = write_run(outcome, settings.directory);
  fmt::print("{}", settings.json
                       ? outcome.document.dump() + "\n"
                       : run_summary(outcome.document, title_of(outcome.document, settings.scenario), files));
  if (std::fflush(stdout) != 0) throw RunError("Cannot write to standard output.");
}

int run(Settings& settings, Ranks ranks) {
  std::optional<Loaded> loaded;
  std::optional<OutputDirectory> directory;
  int code = on_all_ranks(MPI_COMM_WORLD, [&] { loaded.emplace(load(settings, ranks)); });
  if (code != 0) return code;
  settings.how.emulates = loaded->scenario.resolved.value("compute", "real") == "emulated";
  code = on_all_ranks(MPI_COMM_WORLD, [&] {
    require_one_scenario(MPI_COMM_WORLD, loaded->scenario.file, loaded->scenario.resolved);
    directory.emplace(ranks.first() ? settings.directory : "");
  });
  if (code != 0) return code;
  std::string why;
  try {
    leave_last_words(MPI_COMM_WORLD);
    const auto outcome = run_job(*loaded, settings.how);
    no_last_words();
    if (outcome) print(settings, *outcome);
    return 0;
  } catch (const RunError& error) {
    why = error.what();
  } catch (const std::bad_alloc&) {
    why = "Out of memory. Use fewer ranks, a smaller model, or a machine with more memory.";
  } catch (const std::exception& error) {
    why = fmt::format("This is a bug in SimSGD: {}", error.what());
  }
  directory.reset();
  end_all(ranks, why);
}

void add_run(CLI::App& app, Settings& settings) {
  CLI::App* verb =
      app.add_subcommand("run", "Run a scenario for real; each MPI process is one of its workers");
  verb->add_option("SCENARIO", settings.scenario, "A scenario file, or - for standard input")->required();
  verb->add_option(
          "--set", settings.set,
          "Set a value of the scenario (repeatable): /pointer=value, where the value is JSON or text")
      ->type_name("/POINTER=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--python", settings.python,
                   "Train with the method in this Python file, instead of the scenario's algorithm")
      ->type_name("FILE");
  verb->add_option("--plugin", settings.plugins, "Load training methods from a library (repeatable)")
      ->type_name("LIB.so")
      ->allow_extra_args(false);
  verb->add_option("--seed", settings.seed, "Seed of all random numbers, instead of the scenario's");
  verb->add_option("-o,--output", settings.directory, "Write the document and the curves into DIR")
      ->type_name("DIR");
  verb->add_flag("--steps", settings.how.logs_steps, "Also write DIR/steps.csv: every worker and step")
      ->needs("-o");
  verb->add_flag("--json", settings.json, "Print the document instead of a summary");
  verb->add_option("--patience", settings.how.patience_s,
                   "Give up if a rank waits longer than this for others (seconds)")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option(
          "--compute", settings.compute,
          "real: computing takes as long as it takes here; emulated: values are computed, but a step takes the workload's time on the scenario's cluster, stragglers included, so that you can compare it with a simulation. Default: the scenario's \"compute\", else real")
      ->type_name("HOW")
      ->check(CLI::IsMember({"real", "emulated"}));
  verb->add_option(
          "--schedules", settings.schedules,
          "mpi: MPI does the collectives; scenario: message by message, with the schedules of the scenario's cluster")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(CLI::IsMember({"mpi", "scenario"}));
  verb->footer(kFooter);
}

/// Verb and options, as far as ranks must have the same; the scenario is compared apart.
std::string what_it_does(const Settings& settings, const BenchVerbs& benches, const std::string& arguments) {
  if (benches.chosen()) return arguments;
  return fmt::format("run {} schedules={} steps={}", settings.scenario == "-" ? "-" : "FILE",
                     settings.schedules, settings.how.logs_steps);
}

int measure(int argc, char** argv, Ranks ranks) {
  Settings settings;
  CLI::App app{"simsgd-measure runs a scenario of SimSGD for real over MPI, and writes the same document."};
  app.footer(kFooter);
  app.set_version_flag("--version", version_text(context_of(kProgram)));
  app.require_subcommand(1);
  add_run(app, settings);
  BenchVerbs benches(app);
  Started started{version_text(context_of(kProgram)),
                  fmt::format("{}", fmt::join(argv + 1, argv + argc, " ")), ""};
  std::optional<int> code;  // where nothing is to be done
  std::ostringstream out, err;
  try {
    app.parse(argc, argv);
    started.does = what_it_does(settings, benches, started.arguments);
  } catch (const CLI::ParseError& error) {
    code = app.exit(error, out, err) == 0 ? 0 : 2;
    started.does = out.str() + err.str();
  }
  const std::string apart = started_apart(MPI_COMM_WORLD, started);
  if (!apart.empty()) {
    if (ranks.first()) fmt::print(stderr, "{}\n", apart);
    return 2;
  }
  if (code) {
    if (!ranks.first()) return *code;
    fmt::print("{}", out.str());
    fmt::print(stderr, "{}", err.str());
    return *code;
  }
  if (benches.chosen()) return benches.run();
  settings.how.scenario_schedules = settings.schedules == "scenario";
  return run(settings, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  fix_numerics();
  prctl(PR_SET_TIMERSLACK, 1);  // naps end when they should
  ask_for_short_slices();
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);  // where MPI itself waits, others may need the core
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  const int code = measure(argc, argv, ranks);
  std::fflush(stderr);
  MPI_Finalize();
  return code;
}

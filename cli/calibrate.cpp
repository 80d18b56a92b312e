// simsgd calibrate: fits a cluster to measurements. simsgd validate: how good what it predicts is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/calibrate_stragglers.hpp"
#include "analysis/calibration/log_spec.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct CalibrateVerb {
  std::vector<std::string> files;  // one spec, or logs
  std::string data, output, most_error, device, written_spec;
  int gpus_per_node = 0;  // 0: as the logs tell
  bool json = false, markdown = false;
  int jobs = 0;
};

CalibrationSettings settings_of(const CalibrateVerb& verb) {
  CalibrationSettings settings;
  settings.data = verb.data;
  settings.jobs = verb.jobs > 0 ? verb.jobs : available_threads();
  settings.interrupted = interrupted;
  settings.progress = [shown = std::make_shared<std::unique_ptr<Progress>>()](const std::string& stage,
                                                                              std::uint64_t simulations) {
    if (simulations > 0) return (*shown)->at(simulations);
    *shown = nullptr;  // its line goes first
    fmt::print(stderr, "{} ...\n", stage);
    *shown = std::make_unique<Progress>(stage, 0, "simulation");
  };
  return settings;
}

void print(const CalibrateVerb& verb, const Calibration& calibration) {
  fmt::print("{}", verb.json       ? calibration_json(calibration).dump(2) + "\n"
                   : verb.markdown ? calibration_markdown(calibration)
                                   : calibration_text(calibration));
}

void print(const CalibrateVerb& verb, const StragglerCalibration& calibration) {
  fmt::print("{}", verb.json ? straggler_json(calibration).dump(2) + "\n" : straggler_text(calibration));
}

int finish(const CalibrateVerb& verb, const Calibration& calibration, const std::vector<std::string>& told) {
  print(verb, calibration);
  for (const std::string& each : told)
    fmt::print(verb.json || verb.markdown ? stderr : stdout, "{}\n", printable(each));
  if (verb.output.empty()) return 0;
  const Json cluster = calibrated_cluster(calibration, verb.data, today());
  check_cluster(cluster, verb.output);
  write_file_atomically(verb.output, cluster.dump(2) + "\n");
  return 0;
}

/// Logs need no spec: one is made of them.
int calibrate_logs_verb(const CalibrateVerb& verb) {
  if (!verb.data.empty())
    throw ConfigError({"--data", "", "applies to a spec, and these files are logs", verb.data,
                       "Drop it, and give the paths of the logs"});
  std::set<std::string> seen;
  for (const std::string& file : verb.files)
    if (!seen.insert(file).second)
      throw ConfigError(
          {file, "", "is named twice, so its measurements would count twice", "", "Name it once"});
  const LogSpec logs = spec_of_logs(
      verb.files, {verb.gpus_per_node > 0 ? std::optional(verb.gpus_per_node) : std::nullopt, verb.device});
  for (const std::string& note : logs.notes) fmt::print(stderr, "note: {}\n", printable(note));
  const LogCalibration made = calibrate_logs(logs, settings_of(verb));
  if (!verb.written_spec.empty()) write_file_atomically(verb.written_spec, made.spec.dump(2) + "\n");
  return finish(verb, *made.calibration, made.told);
}

void refuse_options_of_logs(const CalibrateVerb& verb) {
  std::vector<InputError> errors;
  for (const auto& [given, option] : {std::pair{!verb.device.empty(), "--device"},
                                      {verb.gpus_per_node > 0, "--gpus-per-node"},
                                      {!verb.written_spec.empty(), "--spec"}})
    if (given)
      errors.push_back(
          {option, "", "applies to logs, and this file is a spec", verb.files.front(), "Leave it out"});
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

/// Specs and sample logs that come with the program are found from any folder, as scenarios are.
void find_files(CalibrateVerb& verb) {
  for (std::string& file : verb.files)
    if (const FoundFile found = find_file(file, ""); file != "-" && !found.path.empty()) file = found.path;
}

int calibrate_verb(const CalibrateVerb& verb) {
  catch_interrupts();
  const std::string& file = verb.files.front();
  if (verb.files.size() > 1 || (file != "-" && !is_spec(file))) return calibrate_logs_verb(verb);
  refuse_options_of_logs(verb);
  Spec spec = load_spec(file, verb.output.empty() ? SpecUse::reports : SpecUse::cluster);
  if (spec.stragglers) {
    const StragglerCalibration stragglers = calibrate_stragglers(std::move(spec), settings_of(verb));
    if (!verb.output.empty())
      write_file_atomically(verb.output, straggler_section(stragglers).dump(2) + "\n");
    print(verb, stragglers);
    return 0;
  }
  const auto calibration = calibrate(std::move(spec), settings_of(verb));
  return finish(verb, *calibration, {});
}

/// "5%", "5 %" or 0.05.
double share_of(const std::string& text) {
  std::string number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.pop_back();
  while (number.ends_with(' ')) number.pop_back();
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(number, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != number.size() || value < 0)
    throw ConfigError(
        {"--max-error", "", "is not a limit of an error", text, "Write a share such as 5% or 0.05"});
  return percent ? value / 100 : value;
}

/// The largest error of the statistics; without --max-error the model must pass its own test.
int validate_stragglers(const CalibrateVerb& verb, Spec spec, std::optional<double> most) {
  const StragglerCalibration stragglers = calibrate_stragglers(std::move(spec), settings_of(verb));
  print(verb, stragglers);
  if (!most) return stragglers.verdict->passes() ? 0 : 1;
  int missed = 0;
  for (const calibration::JudgedStatistic& each : stragglers.verdict->statistics) {
    if (std::fabs(each.error()) <= *most) continue;
    ++missed;
    fmt::print(stderr, "{}: error {:+.2f} %, more than {:.2f} %\n", each.name, 100 * each.error(),
               100 * *most);
  }
  return missed == 0 ? 0 : 1;
}

int validate_verb(const CalibrateVerb& verb) {
  catch_interrupts();
  const std::optional<double> most =
      verb.most_error.empty() ? std::nullopt : std::optional(share_of(verb.most_error));
  Spec spec = load_spec(verb.files.front());
  if (spec.tests.empty())
    throw ConfigError({spec.file, "/tests", "is missing, so there is nothing to validate", "",
                       "Select measurements that are not fitted"});
  if (spec.stragglers) return validate_stragglers(verb, std::move(spec), most);
  const auto calibration = calibrate(std::move(spec), settings_of(verb));
  print(verb, *calibration);
  if (!most) return 0;
  int missed = 0;
  for (std::size_t t = 0; t < calibration->tests.size(); ++t) {
    const TestSpec& test = calibration->spec.tests[t];
    const ErrorSummary& summary = calibration->tests[t].front().all;
    const double error = judged_by(summary, test.judge);
    if (summary.count > 0 && error <= *most) continue;
    ++missed;
    fmt::print(stderr, "{}: {} error {:.2f} %, more than {:.2f} %\n", test.name, test.judge, 100 * error,
               100 * *most);
  }
  return missed == 0 ? 0 : 1;
}

void add_common(CLI::App& verb, CalibrateVerb& settings) {
  verb.add_option("--data", settings.data, "Directory of the measurement files that the spec names")
      ->type_name("DIR");
  verb.add_option("--jobs", settings.jobs,
                  "Simulations or fits in parallel (default: all cores); results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
  verb.add_flag("--json", settings.json, "Print everything as JSON, each point too");
  verb.add_flag(
      "--markdown", settings.markdown,
      "Print a page in Markdown, with each point as fitted, left out, and predicted from data sheets alone");
}

void add_validate(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb =
      app.add_subcommand("validate", "Fit some of the measurements, and check the predictions of others");
  auto settings = std::make_shared<CalibrateVerb>();
  verb->add_option("SPEC", settings->files, "A calibration spec: scenarios/calibration has examples")
      ->required()
      ->expected(1);
  add_common(*verb, *settings);
  verb->add_option(
          "--max-error", settings->most_error,
          "Exit with 1 if the error of a tested part is larger than this (its mean, unless the spec names another statistic)")
      ->type_name("SHARE");
  verb->footer(
      "Example:\n  simsgd validate scenarios/calibration/nccl_a100_nodes.json --data ../shared/data --max-error 5%");
  verb->callback([settings, &exit_code] {
    find_files(*settings);
    exit_code.value = validate_verb(*settings);
  });
}

}  // namespace

void add_calibrate(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("calibrate", "Fit a cluster to measurements");
  auto settings = std::make_shared<CalibrateVerb>();
  verb->add_option(
          "FILES", settings->files,
          "Logs of nccl-tests, RCCL, OSU, ...; or a calibration spec (scenarios/calibration has examples; - for standard input)")
      ->required();
  add_common(*verb, *settings);
  verb->add_option("-o,--output", settings->output, "Write the calibrated cluster")->type_name("FILE");
  verb->add_option("--gpus-per-node", settings->gpus_per_node,
                   "GPUs of a node, if the logs do not contain the number of nodes")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--device", settings->device,
                   "The device file of logs, such as devices/h100.json (default: the one that they name)")
      ->type_name("FILE");
  verb->add_option("--spec", settings->written_spec,
                   "Also write the spec that is made from the logs, as a start for your own")
      ->type_name("FILE");
  verb->footer(
      "Examples:\n  simsgd calibrate nccl_8.log nccl_16.log -o cluster.json\n  simsgd calibrate scenarios/calibration/nccl_a100_nodes.json --data ../shared/data -o cluster.json");
  verb->callback([settings, &exit_code] {
    find_files(*settings);
    exit_code.value = calibrate_verb(*settings);
  });
  add_validate(app, exit_code);
}

}  // namespace simsgd

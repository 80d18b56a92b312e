// simsgd check: everything that is wrong with files, without running them: what `run` would refuse, `check`
// refuses.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>

#include "analysis/runs/sweep_points.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct CheckVerb {
  std::vector<std::string> files;
  OverrideOptions overrides;
};

// All files are checked before anything is reported, so that one look tells everything.
int check(const CheckVerb& verb) {
  std::vector<InputError> errors;
  for (const std::string& file : verb.files) {
    try {
      const std::string what = check_file(file, verb.overrides.overrides(), {available_threads(), {}});
      fmt::print("{}: {}, correct\n", printable(file), what);
    } catch (const ConfigError& error) {
      errors.insert(errors.end(), error.errors().begin(), error.errors().end());
    }
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return 0;
}

}  // namespace

void add_check(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "check",
      "Check scenarios, studies, clusters, devices and workloads as a run would, without running anything");
  auto settings = std::make_shared<CheckVerb>();
  verb->add_option("FILES", settings->files, "Scenario, study, cluster, device or workload files")
      ->required();
  settings->overrides.add_to(*verb);
  verb->footer("Example:\n  simsgd check scenarios/quickstart.json");
  verb->callback([settings, &exit_code] { exit_code.value = check(*settings); });
}

}  // namespace simsgd

// simsgd check: everything that is wrong with scenario or study files, without running them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>

#include "cli/verbs.hpp"
#include "scenarios/study.hpp"
#include "sim/base/errors.hpp"

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
      const Study study = load_study(file, verb.overrides.overrides());
      fmt::print("{}: {}\n", file,
                 study.points.size() == 1
                     ? "a scenario, correct"
                     : fmt::format("a study of {} points, correct", study.points.size()));
    } catch (const ConfigError& error) {
      errors.insert(errors.end(), error.errors().begin(), error.errors().end());
    }
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return 0;
}

}  // namespace

void add_check(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("check", "Check scenario and study files without running them");
  auto settings = std::make_shared<CheckVerb>();
  verb->add_option("FILES", settings->files, "Scenario or study files")->required();
  settings->overrides.add_to(*verb);
  verb->footer("Example:\n  simsgd check scenarios/quickstart.json");
  verb->callback([settings, &exit_code] { exit_code.value = check(*settings); });
}

}  // namespace simsgd

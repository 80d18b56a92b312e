// simsgd quickstart: the first study, wherever the program is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "cli/verbs.hpp"

namespace simsgd {

namespace {

struct QuickstartVerb {
  std::string database = "quickstart.db";
  OverrideOptions overrides;
};

int run_quickstart(const QuickstartVerb& verb) {
  std::vector<std::string> words = {"sweep", "run", "quickstart.json", "-o", verb.database};
  const auto set = [&words](const std::string& assignment) {
    words.insert(words.end(), {"--set", assignment});
  };
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")) {
    fmt::print(
        stderr,
        "Fashion-MNIST is not installed (Debian's dataset-fashion-mnist), so a generated data set takes its place.\n");
    set(R"(/learner/data={"name": "gaussian_mixture"})");
    set("/target=null");
  }
  for (const std::string& each : verb.overrides.set) set(each);
  if (!verb.overrides.seed.empty()) words.insert(words.end(), {"--seed", verb.overrides.seed});
  return run_command_line(std::move(words));
}

}  // namespace

void add_quickstart(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb =
      app.add_subcommand("quickstart", "Run a first study (quickstart.json) with the data on this machine");
  auto settings = std::make_shared<QuickstartVerb>();
  verb->add_option("-o,--output", settings->database, "Keep the results in this file")
      ->type_name("F.db")
      ->capture_default_str();
  settings->overrides.add_to(*verb);
  verb->footer("Example:\n  simsgd quickstart -o first.db");
  verb->callback([settings, &exit_code] { exit_code.value = run_quickstart(*settings); });
}

}  // namespace simsgd

// simsgd migrate: rewrites files from old names of keys and metrics to new ones.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/migrate.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

namespace fs = std::filesystem;

struct MigrateVerb {
  std::vector<std::string> files;
  bool check = false;
};

/// In place: also where the name is a link's, and with the permissions that it has.
void rewrite(const std::string& name, const std::string& text) {
  const fs::path file = fs::canonical(name);
  const fs::perms permissions = fs::status(file).permissions();
  write_file_atomically(file, text);
  fs::permissions(file, permissions);
}

std::string count_text(std::size_t changes) {
  return fmt::format("{} change{}", changes, changes == 1 ? "" : "s");
}

// Every file is read, and what is wrong with any is told, before the first one is written.
int run_migrate(const MigrateVerb& verb) {
  std::vector<Migrated> all;
  std::vector<InputError> errors;
  for (const std::string& file : verb.files) {
    try {
      if (file == "-")
        throw ConfigError({file, "", "is standard input, which cannot be rewritten", "", "Name a file"});
      all.push_back(migrate(read_file(file), file));
    } catch (const ConfigError& error) {
      errors.insert(errors.end(), error.errors().begin(), error.errors().end());
    }
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  bool any = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = printable(verb.files[i]);
    const bool changes = !all[i].changes.empty();
    any = any || changes;
    if (changes && !verb.check) rewrite(verb.files[i], all[i].text);
    for (const std::string& change : all[i].changes) fmt::print("{}:{}\n", name, printable(change));
    if (changes)
      fmt::print("{}: {}{}\n", name, count_text(all[i].changes.size()),
                 verb.check ? " to make" : ", written");
    else
      fmt::print("{}: nothing to change\n", name);
  }
  return verb.check && any ? 1 : 0;
}

}  // namespace

void add_migrate(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("migrate",
                                      "Rewrite scenarios, studies, clusters, devices and workloads from old "
                                      "names of keys and metrics to new");
  auto settings = std::make_shared<MigrateVerb>();
  verb->add_option("FILES", settings->files,
                   "Scenario, study, cluster, device or workload files; comments and layout stay")
      ->required();
  verb->add_flag("--check", settings->check, "Write nothing; exit with 1 if there is anything to change");
  verb->footer("Example:\n  simsgd migrate --check my_scenario.json my_cluster.json");
  verb->callback([settings, &exit_code] { exit_code.value = run_migrate(*settings); });
}

}  // namespace simsgd

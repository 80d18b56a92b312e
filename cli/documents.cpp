#include "cli/documents.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"

namespace simsgd {

namespace {

int write_documents(const CLI::App& app, const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  const std::vector<Command> commands = commands_of(app);
  write_file_atomically(directory / "simsgd.1", man_page(commands));
  write_file_atomically(directory / "simsgd.bash", bash_completion(commands));
  write_file_atomically(directory / "_simsgd", zsh_completion(commands));
  return 0;
}

}  // namespace

void add_documents(CLI::App& app, ExitCode& exit_code) {
  CLI::App* verb = app.add_subcommand("documents", "Write man page and shell completion")->group("");
  auto directory = std::make_shared<std::string>();
  verb->add_option("DIR", *directory, "Where to")->required();
  verb->callback([&app, directory, &exit_code] { exit_code.value = write_documents(app, *directory); });
}

}  // namespace simsgd

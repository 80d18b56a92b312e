// What is installed beside the program and made from it: its man page, and completion for shells. The hidden
// verb `simsgd documents DIR` writes them; the build calls it.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace simsgd {

struct ExitCode;

/// In roff: simsgd(1).
std::string man_page(const std::vector<Command>& commands);
/// Scripts that the shell's completion system loads.
std::string bash_completion(const std::vector<Command>& commands);
std::string zsh_completion(const std::vector<Command>& commands);

void add_documents(CLI::App& app, ExitCode& exit_code);

}  // namespace simsgd

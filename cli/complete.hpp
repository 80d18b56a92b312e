// What the command line takes, read from its own definition (CLI11): what man page and completion are made
// of.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace simsgd {

struct CommandOption {
  std::vector<std::string> names;         ///< "-o", "--output"; of a positional argument its one name
  std::string value;                      ///< what follows it: "DIR"; empty for a flag
  std::vector<std::string> choices = {};  ///< all that may follow it, where the set is closed
  std::string description;
  bool positional = false;
  bool required = false;
  bool repeated = false;
};

struct Command {
  std::string name;  ///< "", "run", "sweep run"
  std::string description;
  std::string footer;  ///< examples, exit codes
  std::vector<CommandOption> options;
  std::vector<std::string> verbs;  ///< that follow it: of "sweep" "run" and "plan"
};

/// The program itself first; then each verb, followed by its own verbs. Hidden ones are left out.
std::vector<Command> commands_of(const CLI::App& app);

/// Pointers as `--set` takes them: the first element of a list, "/stragglers/0/mean".
std::vector<std::string> settable_pointers();

/// What may be set there, without quotation marks; none where the set is open.
std::vector<std::string> values_at(const std::string& pointer);

/// Scripts that the shell's completion system loads; they ask the hidden verb `simsgd complete`.
std::string bash_completion();
std::string zsh_completion();

}  // namespace simsgd

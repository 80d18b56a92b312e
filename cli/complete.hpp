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

/// What a value may be: see completion_of.
struct ShellCompletion {
  enum class Kind { anything, words, json_files, files, directories, pointers, list_kinds, list_names };
  Kind kind = Kind::anything;
  std::vector<std::string> words = {};
};
ShellCompletion completion_of(const Command& command, const CommandOption& option);

/// Pointers as `--set` takes them: the first element of a list, "/stragglers/0/mean".
std::vector<std::string> settable_pointers();

struct PointerValues {
  std::string pointer;
  std::vector<std::string> values;  ///< of a closed set, as `--set` takes them: without quotation marks
};
std::vector<PointerValues> pointer_values();
/// Of one pointer; none where the set is open.
std::vector<std::string> values_at(const std::string& pointer);

/// Scripts that the shell's completion system loads; they ask the hidden verb `simsgd complete`.
std::string bash_completion();
std::string zsh_completion();

}  // namespace simsgd

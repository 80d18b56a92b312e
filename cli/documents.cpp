// simsgd documents: what is installed beside the program and made from it, its man page simsgd(1), from the
// command line's own definition and the reference of keys, and completion for shells. The build calls it.

#include <CLI/CLI.hpp>

#include <filesystem>
#include <map>
#include <memory>

#include "cli/complete.hpp"
#include "cli/verbs.hpp"
#include "results/atomic_file.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"

namespace simsgd {

namespace {

/// Text that roff prints as it is.
std::string roff(const std::string& text) {
  static const std::map<char, std::string> kSaid = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                                    {'^', "\\(ha"}, {'~', "\\(ti"}, {'`', "\\(ga"}};
  std::string escaped;
  bool at_begin = true;
  for (const char c : text) {
    if (at_begin && (c == '.' || c == '\'')) escaped += "\\&";
    const auto found = kSaid.find(c);
    escaped += found == kSaid.end() ? std::string(1, c) : found->second;
    at_begin = c == '\n';
  }
  return escaped;
}

/// A sentence: what a description may lack.
std::string sentence(const std::string& text) { return text.ends_with('.') ? text : text + "."; }

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }

std::string synopsis(const Command& command) {
  std::string line = bold(command.name.empty() ? "simsgd" : "simsgd " + command.name);
  for (const CommandOption& option : command.options) {
    if (!option.positional) continue;
    const std::string name = "\\fI" + roff(option.names.front()) + "\\fR" + (option.repeated ? " ..." : "");
    line += option.required ? " " + name : " [" + name + "]";
  }
  return line + (command.verbs.empty() ? " [\\fIOPTIONS\\fR]" : " \\fICOMMAND\\fR ...") + "\n";
}

std::string option_text(const CommandOption& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + (option.positional ? "\\fI" + roff(name) + "\\fR" : bold(name));
  if (!option.positional && !option.value.empty()) names += " \\fI" + roff(option.value) + "\\fR";
  return ".TP\n" + names + "\n" + roff(sentence(option.description)) + "\n";
}

std::string as_written(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::string command_text(const Command& command) {
  std::string text = ".SS " + roff("simsgd " + command.name) + "\n" + roff(sentence(command.description)) +
                     "\n.PP\n" + synopsis(command);
  for (const CommandOption& option : command.options) text += option_text(option);
  return text + as_written(command.footer);
}

/// JSON has no blanks at which a line could end.
std::string breakable(const std::string& text) {
  std::string with_breaks;
  for (const char c : text)
    with_breaks += c == ',' || c == ':' ? std::string(1, c) + "\\:" : std::string(1, c);
  return with_breaks;
}

std::string key_text(const ReferenceKey& key) {
  std::string about = key.type + (key.unit.empty() ? "" : ", in " + key.unit) +
                      (key.range.empty() ? "" : ", " + key.range) + "; ";
  if (key.required)
    about += "required";
  else if (!key.rule.empty())
    about += "by default " + key.rule;
  else
    about += key.default_value.empty() ? "may be left out" : "by default " + key.default_value;
  return ".TP\n" + bold(last_key(key.pointer)) + "\n" + roff(sentence(key.meaning)) + "\n.br\n" +
         roff(sentence(about)) + "\n.br\nExample: " + breakable(roff(key.example)) + "\n";
}

std::string object_text(const ReferenceObject& object) {
  std::string title = object.pointer.empty() ? "The scenario" : object.pointer;
  if (!object.plugin.empty()) title += ": " + object.plugin;
  std::string text = ".SS \"" + roff(title) + "\"\n" + roff(sentence(object.meaning));
  std::string of;
  for (const std::string& name : object.of) of += (of.empty() ? " Of " : ", ") + name;
  text += roff(of.empty() ? "" : of + ".") + "\n";
  if (!object.source.empty()) text += roff("Source: " + sentence(object.source)) + "\n";
  for (const ReferenceKey& key : object.keys) text += key_text(key);
  return text;
}

constexpr const char* kKeys =
    ".SH KEYS OF SCENARIO FILES\n"
    "Below each object its keys: type, SI unit, range, default, meaning, example. An asterisk in a pointer stands for any\nelement of a list. Quantities are numbers in the SI unit, or text with a unit.\n";

constexpr const char* kFiles =
    ".SH FILES\n"
    ".TP\n\\fIPREFIX\\fR/share/simsgd/scenarios\nScenarios, studies, clusters, devices and workloads, where a name in\n\\fBuse\\fR and on the command line is looked for too.\n"
    ".TP\n\\fIPREFIX\\fR/share/simsgd/schemas\nJSON Schemas of these files, for editors.\n";

/// In roff.
std::string man_page(const std::vector<Command>& commands) {
  const Command& program = commands.front();
  std::string text = ".TH SIMSGD 1 \"\" \"simsgd\" \"User Commands\"\n.ad l\n.SH NAME\n" +
                     roff("simsgd - time and convergence of distributed SGD, predicted") + "\n.SH SYNOPSIS\n";
  for (const Command& command : commands)
    if (command.verbs.empty()) text += synopsis(command) + ".br\n";
  text += ".SH DESCRIPTION\n" + roff(program.description) + "\n.SH OPTIONS\n";
  for (const CommandOption& option : program.options) text += option_text(option);
  text += ".SH COMMANDS\n";
  for (const Command& command : commands)
    if (!command.name.empty() && command.verbs.empty()) text += command_text(command);
  text += ".SH EXAMPLES AND EXIT STATUS\n" + as_written(program.footer) + kFiles + kKeys;
  for (const ReferenceObject& object : reference()) text += object_text(object);
  return text;
}

int write_documents(const CLI::App& app, const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  write_file_atomically(directory / "simsgd.1", man_page(commands_of(app)));
  write_file_atomically(directory / "simsgd.bash", bash_completion());
  write_file_atomically(directory / "_simsgd", zsh_completion());
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

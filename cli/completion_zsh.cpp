// ShellCompletion for zsh, from the command line's own definition and the reference of keys.
#include <fmt/format.h>

#include "cli/documents.hpp"
#include "cli/list_items.hpp"
#include "cli/list_keys.hpp"

namespace simsgd {

namespace {

/// Between single quotes.
std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// Where "[", "]" and ":" would end a description.
std::string description(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// What `_arguments` does for a value.
std::string action(const ShellCompletion& completion) {
  switch (completion.kind) {
    case ShellCompletion::Kind::words:
      return "(" + words_text(completion.words) + ")";
    case ShellCompletion::Kind::json_files:
      return "_files -g \"*.json\"";
    case ShellCompletion::Kind::files:
      return "_files";
    case ShellCompletion::Kind::directories:
      return "_files -/";
    case ShellCompletion::Kind::pointers:
      return "_simsgd_set";
    case ShellCompletion::Kind::list_kinds:
      return "_simsgd_list_kinds";
    case ShellCompletion::Kind::list_names:
      return "_simsgd_list_names";
    case ShellCompletion::Kind::anything:
      return " ";
  }
  return " ";
}

std::string option_lines(const Command& command, const CommandOption& option, int& place) {
  const std::string act = action(completion_of(command, option));
  if (option.positional) {
    const std::string where = option.repeated ? "*" : std::to_string(++place);
    const std::string colon = option.required || option.repeated ? ":" : "::";
    return "    " + single_quoted(where + colon + option.names.front() + ":" + act) + " \\\n";
  }
  std::string lines;
  for (const std::string& name : option.names) {
    std::string spec = (option.repeated ? "*" : "") + name + "[" + description(option.description) + "]";
    if (!option.value.empty()) spec += ":" + description(option.value) + ":" + act;
    lines += "    " + single_quoted(spec) + " \\\n";
  }
  return lines;
}

std::string function_name(const Command& command) {
  std::string name = command.name.empty() ? "_simsgd" : "_simsgd_" + command.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

std::string leaf(const Command& command) {
  std::string text = function_name(command) + "() {\n  _arguments -s \\\n";
  int place = 0;
  for (const CommandOption& option : command.options) text += option_lines(command, option, place);
  return text + "    && return 0\n}\n\n";
}

const Command* find(const std::vector<Command>& commands, const std::string& name) {
  for (const Command& command : commands)
    if (command.name == name) return &command;
  return nullptr;
}

/// A command that verbs follow.
std::string inner(const std::vector<Command>& commands, const Command& command) {
  std::string text = function_name(command) + "() {\n  local curcontext=$curcontext state line\n";
  text += "  local -a verbs=(\n";
  std::string branches;
  for (const std::string& verb : command.verbs) {
    const Command* of_verb = find(commands, command.name.empty() ? verb : command.name + " " + verb);
    text += "    " + single_quoted(verb + ":" + description(of_verb->description)) + "\n";
    branches += "        " + verb + ") " + function_name(*of_verb) + " ;;\n";
  }
  text += "  )\n  _arguments -C \\\n";
  int place = 0;
  for (const CommandOption& option : command.options) text += option_lines(command, option, place);
  return text +
         "    '1: :->verb' '*:: :->rest' && return 0\n"
         "  case $state in\n"
         "    verb) _describe -t commands command verbs ;;\n"
         "    rest)\n"
         "      case $line[1] in\n" +
         branches + "      esac\n      ;;\n  esac\n}\n\n";
}

std::string tables() {
  std::string text = "_simsgd_values_of() {\n  case $1 in\n";
  for (const PointerValues& each : pointer_values())
    text += "    " + single_quoted(each.pointer) + ") reply=(" + words_text(each.values) + ") ;;\n";
  return text + "    *) reply=() ;;\n  esac\n}\n\ntypeset -ga _simsgd_pointers=(" +
         words_text(settable_pointers()) + ")\ntypeset -ga _simsgd_keys=(" + words_text(key_names()) +
         ")\ntypeset -ga _simsgd_kinds=(" + words_text(list_kinds()) + ")\n\n";
}

constexpr const char* kZshMachinery = R"sh(# /pointer=value
_simsgd_set() {
  local -a reply
  if compset -P 1 '*='; then
    _simsgd_values_of "${IPREFIX%=}"
    compadd -a reply
  else
    compadd -S '=' -a _simsgd_pointers
  fi
}

_simsgd_list_kinds() {
  if [[ $PREFIX == /* ]]; then
    compadd -a _simsgd_pointers
  else
    compadd -a _simsgd_kinds
    compadd -a _simsgd_keys
  fi
}

_simsgd_list_names() {
  (( $_simsgd_kinds[(Ie)$line[1]] )) || return 1
  local -a names=(${${(f)"$(simsgd list $line[1] 2> /dev/null)"}%% *})
  compadd -a names
}

)sh";

}  // namespace

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string text = "#compdef simsgd\n# ShellCompletion of simsgd for zsh; written by simsgd.\n\n";
  text += tables();
  text += kZshMachinery;
  for (const Command& command : commands)
    text += command.verbs.empty() ? leaf(command) : inner(commands, command);
  return text + "_simsgd \"$@\"\n";
}

}  // namespace simsgd

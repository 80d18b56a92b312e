// ShellCompletion for bash, from the command line's own definition and the reference of keys.
#include <fmt/format.h>

#include "cli/documents.hpp"
#include "cli/list_items.hpp"
#include "cli/list_keys.hpp"

namespace simsgd {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// One branch of a `case`.
std::string branch(const std::string& pattern, const std::string& words) {
  return fmt::format("    '{}') echo '{}' ;;\n", pattern, words);
}

/// A kind of completion, as the script's functions pass it on.
std::string kind_text(const ShellCompletion& completion) {
  switch (completion.kind) {
    case ShellCompletion::Kind::words:
      return "words " + joined(completion.words);
    case ShellCompletion::Kind::json_files:
      return "json_files";
    case ShellCompletion::Kind::files:
      return "files";
    case ShellCompletion::Kind::directories:
      return "directories";
    case ShellCompletion::Kind::pointers:
      return "pointers";
    case ShellCompletion::Kind::list_kinds:
      return "list_kinds";
    case ShellCompletion::Kind::list_names:
      return "list_names";
    case ShellCompletion::Kind::anything:
      return "anything";
  }
  return "anything";
}

std::string function(const std::string& name, const std::string& about, const std::string& branches) {
  return fmt::format("# {}\n{}() {{\n  case \"$1\" in\n{}  esac\n}}\n\n", about, name, branches);
}

std::string verbs_function(const std::vector<Command>& commands) {
  std::string branches;
  for (const Command& command : commands)
    if (!command.verbs.empty()) branches += branch(command.name, joined(command.verbs));
  return function("_simsgd_verbs", "Verbs that may follow a command", branches);
}

std::string options_function(const std::vector<Command>& commands) {
  std::string branches;
  for (const Command& command : commands) {
    std::vector<std::string> names;
    for (const CommandOption& option : command.options)
      if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
    branches += branch(command.name, joined(names));
  }
  return function("_simsgd_options", "Options of a command", branches);
}

std::string values_function(const std::vector<Command>& commands) {
  std::string branches;
  for (const Command& command : commands)
    for (const CommandOption& option : command.options)
      for (const std::string& name : option.names)
        if (!option.positional && !option.value.empty())
          branches += branch(command.name + " " + name, kind_text(completion_of(command, option)));
  return function("_simsgd_value", "What follows an option: \"COMMAND OPTION\"; nothing after a flag",
                  branches);
}

std::string arguments_function(const std::vector<Command>& commands) {
  std::string branches;
  for (const Command& command : commands) {
    int place = 0;
    for (const CommandOption& option : command.options) {
      if (!option.positional) continue;
      const std::string kind = kind_text(completion_of(command, option));
      if (option.repeated)
        branches += fmt::format("    '{} '*) echo '{}' ;;\n", command.name, kind);
      else
        branches += branch(fmt::format("{} {}", command.name, place++), kind);
    }
  }
  return function("_simsgd_argument", "Arguments without an option: \"COMMAND PLACE\"", branches);
}

std::string pointers_function() {
  std::string branches;
  for (const PointerValues& each : pointer_values()) branches += branch(each.pointer, joined(each.values));
  return function("_simsgd_pointer_values", "Values of a key that has a closed set of them", branches) +
         "_simsgd_pointers='" + joined(settable_pointers()) + "'\n_simsgd_list_kinds='" +
         joined(list_kinds()) + "'\n_simsgd_list_keys='" + joined(key_names()) + "'\n\n";
}

constexpr const char* kBashMachinery =
    R"sh(_simsgd_reply() { mapfile -t COMPREPLY < <(compgen "${@:1:$#-1}" -- "${!#}"); }

# _simsgd_set POINTER[=VALUE]: bash gives the parts around "=" as words of their own, unless told otherwise.
_simsgd_set() {
  if [[ $1 == *=* ]]; then
    _simsgd_reply -P "${1%%=*}=" -W "$(_simsgd_pointer_values "${1%%=*}")" "${1#*=}"
  else
    _simsgd_reply -S = -W "$_simsgd_pointers" "$1"
    compopt -o nospace 2> /dev/null
  fi
}

_simsgd_list() {
  local word keys=''
  if [[ $1 == */* ]]; then
    [[ $1 == /* ]] && keys=$_simsgd_pointers || keys=$_simsgd_list_keys
  else
    for word in $_simsgd_list_keys; do [[ $word == */* ]] || keys+=" $word"; done
    keys+=" $_simsgd_list_kinds"
  fi
  _simsgd_reply -W "$keys" "$1"
}

# _simsgd_of_kind KIND WORD LISTED: LISTED is the kind that `list` was given.
_simsgd_of_kind() {
  case $1 in
    words\ *) _simsgd_reply -W "${1#words }" "$2" ;;
    pointers) _simsgd_set "$2" ;;
    list_kinds) _simsgd_list "$2" ;;
    list_names)
      [[ " $_simsgd_list_kinds " == *" $3 "* ]] || return
      _simsgd_reply -W "$("${COMP_WORDS[0]}" list "$3" 2> /dev/null | cut -d ' ' -f 1)" "$2"
      ;;
    json_files | files)
      _simsgd_reply -f $([[ $1 == json_files ]] && echo "-X !*.json") "$2"
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$2")
      compopt -o filenames 2> /dev/null
      ;;
    directories)
      _simsgd_reply -d "$2"
      compopt -o filenames 2> /dev/null
      ;;
  esac
}

_simsgd() {
  local command='' awaited='' listed='' word i place=0 current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      awaited=value
    elif [[ $awaited == value || -n $awaited && $word != -* ]]; then
      awaited=''
    elif [[ $word == -* ]]; then
      awaited=$(_simsgd_value "$command $word")
    elif [[ " $(_simsgd_verbs "$command") " == *" $word "* ]]; then
      command=${command:+$command }$word
    else
      listed=$word
      ((place++))
    fi
  done
  if [[ $current == = ]]; then
    _simsgd_reply -W "$(_simsgd_pointer_values "${COMP_WORDS[COMP_CWORD - 1]}")" ''
  elif [[ $awaited == value ]]; then
    _simsgd_reply -W "$(_simsgd_pointer_values "${COMP_WORDS[COMP_CWORD - 2]}")" "$current"
  elif [[ -n $awaited ]]; then
    _simsgd_of_kind "$awaited" "$current"
  elif [[ $current == -* ]]; then
    _simsgd_reply -W "$(_simsgd_options "$command")" "$current"
  elif [[ -n $(_simsgd_verbs "$command") ]]; then
    _simsgd_reply -W "$(_simsgd_verbs "$command")" "$current"
  else
    _simsgd_of_kind "$(_simsgd_argument "$command $place")" "$current" "$listed"
  fi
}

complete -F _simsgd simsgd
)sh";

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  return "# ShellCompletion of simsgd for bash; written by simsgd.\n\n" + verbs_function(commands) +
         options_function(commands) + values_function(commands) + arguments_function(commands) +
         pointers_function() + kBashMachinery;
}

}  // namespace simsgd

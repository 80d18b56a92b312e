// simsgd complete: what the shell's completion asks, and the scripts that ask it. The program itself knows
// its verbs, options, keys and their values; a script only passes on the words and shows the answer.
#include "cli/complete.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/questions/study_report.hpp"
#include "cli/list.hpp"
#include "cli/measurements_library.hpp"
#include "cli/verbs.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

/// "INT" of "INT:INT in [1 - 1024]".
std::string first_word(const std::string& type) { return type.substr(0, type.find(':')); }

/// "mean" and "median" of "TEXT:{mean,median}", as CLI::IsMember describes itself.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find(":{");
  if (open == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 2, type.find('}', open) - open - 2), ',');
}

CommandOption option_of(const CLI::Option& option) {
  CommandOption made;
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  made.positional = made.names.empty();
  if (made.positional) made.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) made.value = first_word(option.get_type_name());
  made.choices = choices_of(option.get_type_name());
  made.description = option.get_description();
  made.required = option.get_required();
  made.repeated = option.get_items_expected_max() > 1;
  return made;
}

void add_commands(const CLI::App& app, const std::string& name, std::vector<Command>& all) {
  const auto shown = [](const CLI::App* verb) { return !verb->get_group().empty(); };
  Command command{name, app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) command.options.push_back(option_of(*option));
  const std::vector<const CLI::App*> verbs = app.get_subcommands(shown);
  for (const CLI::App* verb : verbs) command.verbs.push_back(verb->get_name());
  all.push_back(std::move(command));
  for (const CLI::App* verb : verbs)
    add_commands(*verb, name.empty() ? verb->get_name() : name + " " + verb->get_name(), all);
}

/// Of each its name, in their order.
template <class All, class Name>
std::vector<std::string> names_of(const All& all, Name name) {
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(name(each));
  return names;
}

/// By name, each once.
template <class Name>
std::vector<std::string> of_schedules(Name name) {
  const std::vector<std::string> all = names_of(schedule_plugins(), name);
  const std::set<std::string> names(all.begin(), all.end());
  return {names.begin(), names.end()};
}

std::string with_first_elements(const std::string& pointer) {
  std::string settable;
  for (const std::string& token : tokens(pointer)) settable = child(settable, token == "*" ? "0" : token);
  return settable;
}

/// Without the quotation marks of a text: `--set` takes what is not JSON as text.
std::string as_argument(const std::string& json) {
  const Json value = Json::parse(json);
  return value.is_string() ? value.get<std::string>() : json;
}

/// What a value may be.
struct ShellCompletion {
  enum class Kind { anything, words, json_files, files, directories, pointers, list_kinds, list_names };
  Kind kind = Kind::anything;
  std::vector<std::string> words = {};
};

using Kind = ShellCompletion::Kind;

ShellCompletion completion_of(const Command& command, const CommandOption& option) {
  const std::string& name = option.names.back();
  if (!option.choices.empty()) return {Kind::words, option.choices};
  if (command.name == "list" && name == "KIND") return {Kind::list_kinds};
  if (command.name == "list" && name == "NAME") return {Kind::list_names};
  if (command.name == "schema" && name == "KIND") return {Kind::words, file_kinds()};
  if (name == "OPERATION")
    return {Kind::words, of_schedules([](const auto& each) { return op_name(each.op); })};
  if (name == "--schedule")
    return {Kind::words, of_schedules([](const auto& each) { return each.info.name; })};
  if (name == "--fidelity") return {Kind::words, values_at("/network/fidelity")};
  if (command.name == "import") {
    if (name == "--format") return {Kind::words, measurements_library().import_formats()};
    if (name == "--set") return {};
    if (option.positional || option.value == "FILE") return {Kind::files};
    if (name == "--map") return {Kind::json_files};
  }
  if (command.name == "replay" && option.positional) return {Kind::files};
  if (command.name == "report") {
    if (name == "--chart") return {Kind::words, questions::chart_names()};
    if (option.value == "FILE") return {Kind::files};
  }
  if (command.name == "explore" && option.positional) return {Kind::files};
  if (name == "--set" && command.name != "list") return {Kind::pointers};
  if (option.value == "DIR") return {Kind::directories};
  if (option.value == "F.db" || name == "F.db") return {Kind::files};
  if (name == "--metric")
    return {Kind::words, names_of(metrics(), [](const auto& each) { return each.name; })};
  if (command.name.starts_with("results")) return {};
  if (name == "--cluster" || option.positional) return {Kind::json_files};
  return {};
}

/// What may stand in the last word: its first line says how the shell completes it, the others what begins as
/// it does.
class LastWord {
 public:
  LastWord(const std::vector<Command>& commands, std::vector<std::string> words)
      : commands_(commands), words_(std::move(words)) {
    current_ = words_.empty() ? "" : words_.back();
    if (!words_.empty()) words_.pop_back();
  }

  std::string answer() {
    // Where the shell gives the parts around "=" as words of their own, what precedes them is a key.
    if (current_ == "=" && !words_.empty()) {
      current_.clear();
      offer(values_at(words_.back()));
    } else if (words_.size() > 1 && words_.back() == "=") {
      offer(values_at(words_[words_.size() - 2]));
    } else {
      walk();
    }
    return how_ + "\n" + offered_;
  }

 private:
  void offer(const std::vector<std::string>& all, const std::string& begin = "") {
    for (const std::string& word : all)
      if ((begin + word).starts_with(current_)) offered_ += begin + word + "\n";
  }

  const Command* command(const std::string& name) const {
    for (const Command& each : commands_)
      if (each.name == name) return &each;
    return nullptr;
  }

  static const CommandOption* option_named(const Command& command, const std::string& name) {
    for (const CommandOption& each : command.options)
      if (!each.positional && std::ranges::find(each.names, name) != each.names.end()) return &each;
    return nullptr;
  }

  void walk() {
    const Command* at = command("");
    const CommandOption* awaited = nullptr;  // an option whose value comes next
    std::string first;                       // argument
    std::size_t place = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (i + 1 < words_.size() && word == "=") {
        ++i;  // and the value
      } else if (awaited != nullptr && !word.starts_with('-')) {
        awaited = nullptr;
      } else if (word.starts_with('-')) {
        awaited = option_named(*at, word);
        if (awaited != nullptr && awaited->value.empty()) awaited = nullptr;
      } else if (std::ranges::find(at->verbs, word) != at->verbs.end()) {
        at = command(at->name.empty() ? word : at->name + " " + word);
      } else {
        if (place++ == 0) first = word;
      }
    }
    if (awaited != nullptr) return complete(completion_of(*at, *awaited), first);
    if (current_.starts_with('-')) {
      for (const CommandOption& each : at->options)
        if (!each.positional) offer(each.names);
      return;
    }
    if (!at->verbs.empty()) return offer(at->verbs);
    for (const CommandOption& each : at->options)
      if (each.positional && (each.repeated || place-- == 0))
        return complete(completion_of(*at, each), first);
  }

  void complete(const ShellCompletion& completion, const std::string& first) {
    switch (completion.kind) {
      case Kind::anything:
        return;
      case Kind::words:
        return offer(completion.words);
      case Kind::json_files:
        how_ = "json";
        return;
      case Kind::files:
        how_ = "files";
        return;
      case Kind::directories:
        how_ = "directories";
        return;
      case Kind::pointers: {
        const std::size_t equals = current_.find('=');
        if (equals != std::string::npos)
          return offer(values_at(current_.substr(0, equals)), current_.substr(0, equals + 1));
        how_ = "keys";  // which go on after them
        return offer(settable_pointers());
      }
      case Kind::list_kinds: {
        if (current_.starts_with('/')) return offer(settable_pointers());
        std::vector<std::string> keys = key_names();
        if (current_.find('/') == std::string::npos)
          std::erase_if(keys, [](const std::string& key) { return key.find('/') != std::string::npos; });
        offer(keys);
        return offer(list_kinds());
      }
      case Kind::list_names:
        for (const ListedKind& kind : listed_kinds())
          if (kind.name == first)
            for (const ListedItem& item : kind.items("", {})) offer({item.name});
    }
  }

  const std::vector<Command>& commands_;
  std::vector<std::string> words_;
  std::string current_, how_ = "words", offered_;
};

}  // namespace

std::vector<std::string> values_at(const std::string& pointer) {
  std::set<std::string> values;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys)
      if (with_first_elements(key.pointer) == pointer)
        for (const std::string& value : key.values) values.insert(as_argument(value));
  return {values.begin(), values.end()};
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> all;
  add_commands(app, "", all);
  return all;
}

std::vector<std::string> settable_pointers() {
  std::set<std::string> pointers;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys) pointers.insert(with_first_elements(key.pointer));
  return {pointers.begin(), pointers.end()};
}

std::string bash_completion() {
  return R"sh(# Completion of simsgd for bash; written by simsgd.

_simsgd() {
  local lines current=${COMP_WORDS[COMP_CWORD]}
  mapfile -t lines < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
  COMPREPLY=("${lines[@]:1}")
  case ${lines[0]} in
    keys)
      COMPREPLY=("${COMPREPLY[@]/%/=}")
      compopt -o nospace 2> /dev/null
      ;;
    json | files)
      mapfile -t COMPREPLY < <(compgen -f $([[ ${lines[0]} == json ]] && echo "-X !*.json") -- "$current"; compgen -d -- "$current")
      compopt -o filenames 2> /dev/null
      ;;
    directories)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      compopt -o filenames 2> /dev/null
      ;;
  esac
}

complete -F _simsgd simsgd
)sh";
}

std::string zsh_completion() {
  return R"sh(#compdef simsgd
# Completion of simsgd for zsh; written by simsgd.

_simsgd() {
  local -a lines=("${(@f)$("$words[1]" complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  case $lines[1] in
    keys) compadd -S '=' -- "${(@)lines[2,-1]}" ;;
    json) _files -g '*.json' ;;
    files) _files ;;
    directories) _files -/ ;;
    *) compadd -- "${(@)lines[2,-1]}" ;;
  esac
}

_simsgd "$@"
)sh";
}

void add_complete(CLI::App& app, ExitCode&) {
  CLI::App* verb = app.add_subcommand("complete", "What the last of these words may be")->group("");
  auto words = std::make_shared<std::vector<std::string>>();
  verb->add_option("WORDS", *words, "As typed after simsgd, the last one as far as it is")->expected(-1);
  verb->callback([&app, words] { fmt::print("{}", LastWord(commands_of(app), *words).answer()); });
}

}  // namespace simsgd

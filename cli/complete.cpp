// simsgd complete: what the shell's completion asks, and the scripts that ask it. The program itself knows
// its verbs, options, keys and their values; a script only passes on the words and shows the answer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/list_items.hpp"
#include "cli/list_keys.hpp"
#include "cli/verbs.hpp"

namespace simsgd {

namespace {

using Kind = ShellCompletion::Kind;

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
      if (!each.positional && std::find(each.names.begin(), each.names.end(), name) != each.names.end())
        return &each;
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
      } else if (std::find(at->verbs.begin(), at->verbs.end(), word) != at->verbs.end()) {
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

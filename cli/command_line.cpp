// What `simsgd` does with its arguments: the verbs, and what becomes of their errors.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "algorithms/loaded_algorithms.hpp"
#include "analysis/runner.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr const char* kPlugin = "--plugin";  // without_plugins() takes it; the library only describes it

constexpr const char* kFooter =
    "Examples:\n"
    "  simsgd run scenarios/papers/wagma_resnet50_wagma.json --set /cluster/workers=16\n"
    "  simsgd sweep run scenarios/quickstart.json -o results.db\n"
    "  simsgd bench all_reduce -b 8 -e 1G -f 2 --cluster clusters/infiniband-100g.json --workers 16\n"
    "Exit codes: 0 done; 1 the run failed or a check did not hold; 2 usage or input; 3 some points of a sweep failed;\n"
    "130 interrupted. Results go to stdout, everything else to stderr.";

/// The verb that the words ask for, and how it is written: "simsgd sweep run". Throws ConfigError for a word
/// that stands where a verb does and is none: the library would call it "not expected".
std::pair<const CLI::App*, std::string> verb_of(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string written = "simsgd";
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> verbs = at->get_subcommands([](const CLI::App*) { return true; });
    if (verbs.empty() || word.starts_with('-')) break;
    const auto next =
        std::ranges::find_if(verbs, [&](const CLI::App* verb) { return verb->get_name() == word; });
    if (next == verbs.end()) {
      std::vector<std::string> names;
      for (const CLI::App* verb : verbs)
        if (!verb->get_group().empty()) names.push_back(verb->get_name());
      throw ConfigError({written, "", "has no such command", printable(word), which_there_are(word, names)});
    }
    at = *next;
    written += " " + word;
  }
  return {at, written};
}

/// Every option that the verb does not have, with the one that is spelled most alike.
std::vector<InputError> unknown_options(const CLI::App& verb, const std::string& written,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> valid;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) valid.push_back("--" + name);
  std::vector<InputError> errors;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.size() < 2 || word.front() != '-' || std::isdigit(static_cast<unsigned char>(word[1])) != 0)
      continue;
    const std::string name = word.substr(0, word.starts_with("--") ? word.find('=') : 2);
    if (verb.get_option_no_throw(name) != nullptr) continue;
    const std::string near = nearest(name, valid);
    errors.push_back({written, "", "has no such option", printable(name),
                      fmt::format("{}{} --help lists its options",
                                  near.empty() ? "" : "Did you mean " + near + "? ", written)});
  }
  return errors;
}

/// `simsgd help run` is `simsgd run --help`.
std::vector<std::string> without_help(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

/// Takes `--plugin FILE` out of the words, wherever it stands, and loads what it names.
std::vector<std::string> without_plugins(std::vector<std::string> words) {
  for (auto word = words.begin(); word != words.end() && *word != "--";) {
    const bool has_value = word->starts_with(kPlugin + std::string("="));
    if (!has_value && *word != kPlugin) {
      ++word;
      continue;
    }
    if (!has_value && word + 1 == words.end())
      throw ConfigError({kPlugin, "", "names no file", "", "Write a library, such as --plugin ./libmine.so"});
    name_plugin_library(has_value ? word->substr(std::string(kPlugin).size() + 1) : *(word + 1));
    word = words.erase(word, word + (has_value ? 1 : 2));
  }
  loaded_algorithms();  // what is wrong with one is said now, whatever the verb does
  return words;
}

int run_verb(std::vector<std::string> words) {
  words = without_plugins(std::move(words));
  CLI::App app{
      "SimSGD predicts how long distributed SGD takes on a GPU cluster, and how well it learns in that time."};
  app.footer(kFooter);
  app.set_version_flag("--version", version_text(build_context()));
  std::vector<std::string> plugins;
  app.add_option(kPlugin, plugins,
                 "Load training methods from a library, for any verb (repeatable): docs/algorithms.md")
      ->type_name("LIB.so");
  app.require_subcommand(1);
  ExitCode exit_code;
  const bool helps = !words.empty() && words.front() == "help";
  words = without_help(std::move(words));
  add_verbs(app, exit_code, helps || words.empty() ? "" : words.front());
  const std::pair<const CLI::App*, std::string> asked = verb_of(app, words);
  try {
    app.name("simsgd");
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as the library takes them
  } catch (const CLI::ExtrasError&) {
    std::vector<InputError> errors = unknown_options(*asked.first, asked.second, words);
    if (errors.empty()) {
      std::vector<std::string> surplus = app.remaining(true);
      std::reverse(surplus.begin(), surplus.end());
      errors.push_back({asked.second, "", "got an unexpected argument",
                        printable(fmt::format("{}", fmt::join(surplus, " "))),
                        asked.second + " --help shows what it takes"});
    }
    throw ConfigError(std::move(errors));
  } catch (const CLI::ParseError& error) {
    std::ostringstream help, problem;
    const int code = app.exit(error, help, problem);
    print_wrapped("{}", help.str());
    print_error("{}", printable_lines(problem.str()));
    return code == 0 ? 0 : 2;
  }
  return exit_code.value;
}

constexpr std::uint64_t kLargestSeed = std::uint64_t{1} << 53;  // as in a file

// As it was written: an unsigned number would make 18446744073709551615 of -1.
std::uint64_t read_seed(const std::string& text) {
  const auto seed = number_of_text<std::uint64_t>(text);
  if (seed && *seed <= kLargestSeed) return *seed;
  throw ConfigError(
      {"--seed", "", "is not a seed", text, fmt::format("Write a whole number from 0 to {}", kLargestSeed)});
}

}  // namespace

int run_command_line(std::vector<std::string> words, std::vector<InputError>* errors) {
  try {
    return run_verb(std::move(words));
  } catch (const ConfigError& error) {
    if (errors != nullptr) *errors = error.errors();
    print_error("{}\n", error.what());
    if (error.errors().size() > 1)
      fmt::print(stderr, "{} errors; nothing was run or written.\n", error.errors().size());
    return 2;
  } catch (const Interrupted&) {
    fmt::print(stderr, "Interrupted.\n");
    return 130;
  } catch (const RunError& error) {
    print_error("{}\n", printable(error.what()));
    return 1;
  } catch (const std::system_error& error) {  // fmt, on a full disk or a closed pipe
    fmt::print(stderr, "Cannot write the output: {}\n", error.code().message());
    return 1;
  } catch (const std::bad_alloc&) {
    print_error(
        "Out of memory. Ask for less at once (fewer workers, a smaller model, a shorter file), or use a machine with more memory.\n");
    return 1;
  } catch (const std::exception& error) {
    print_error("This is a bug in SimSGD: {}\n", printable(error.what()));
    return 1;
  }
}

CLI::Validator above_zero() {
  const auto problem = [](const std::string& text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && value > 0 ? std::string()
                                                               : fmt::format("Value {} is not above 0", text);
  };
  return CLI::Validator(problem, "POSITIVE");
}

void OverrideOptions::add_to(CLI::App& verb) {
  verb.add_option("--set", set,
                  "Set a value of the scenario (repeatable): /pointer=value, where the value is JSON or text")
      ->type_name("/POINTER=VALUE")
      ->allow_extra_args(false);
  seed_option = verb.add_option("--seed", seed, "Seed of all random numbers, instead of the scenario's")
                    ->type_name("N");
}

Overrides OverrideOptions::overrides() const {
  Overrides result;
  for (const std::string& argument : set) result.set.push_back(parse_set(argument));
  if (seed_option && seed_option->count() > 0) result.seed = read_seed(seed);
  return result;
}

double quantity_option(const std::string& option, const std::string& text, Dimension dimension,
                       const char* problem, const char* remedy) {
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  if (!parsed.ok || !(parsed.value > 0)) throw ConfigError({option, "", problem, text, remedy});
  return parsed.value;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04d}-{:02d}-{:02d}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

int available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace simsgd

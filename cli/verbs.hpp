// The verbs of the command line, one file each. A verb registers its options and a callback; it throws
// ConfigError, RunError or Interrupted, and main turns these into exit codes.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/use.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/base/units.hpp"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace simsgd {

/// Exit codes of the contract: 0 done; 1 the run failed or a check did not hold; 2 usage or input; 3 some
/// points of a sweep failed; 130 interrupted.
struct ExitCode {
  int value = 0;
};

/// `--set /pointer=value` (repeatable) and `--seed N`.
struct OverrideOptions {
  std::vector<std::string> set;
  std::string seed;
  CLI::Option* seed_option = nullptr;

  void add_to(CLI::App& verb);
  Overrides overrides() const;  ///< throws ConfigError
};

/// `--study NAME` and `--where AXIS=VALUE` (repeatable), as all verbs that read results have them.
void add_selection(CLI::App& verb, std::string& study, std::vector<std::string>& where);

struct InputError;

/// Parses the words after the program's name, runs one verb, and turns errors into sentences; returns the
/// exit code. `errors` gets what is wrong with the input too.
int run_command_line(std::vector<std::string> words, std::vector<InputError>* errors = nullptr);

/// The verbs, in the order of cli/CMakeLists.txt, which writes this: each NAME.cpp there has add_NAME. Those
/// that read measurements only where `asked` is not one of the others (measurements_library.hpp).
void add_verbs(CLI::App& app, ExitCode& exit_code, const std::string& asked);

/// What an option says, above 0, in SI; throws ConfigError with `problem` and `remedy`.
double quantity_option(const std::string& option, const std::string& text, Dimension dimension,
                       const char* problem, const char* remedy);
inline constexpr const char *kNoMemory = "is not an amount of memory",
                            *kSuchMemory = "Write one such as 4GB or 500MB";

/// Of options that take a number above 0. (CLI11's own tells the largest double, in 300 digits.)
CLI::Validator above_zero();

/// More threads or processes at a time than any machine has cores for.
inline constexpr int kMostThreads = 1024;

/// As "2026-01-31", UTC.
std::string today();

/// Cores that numerics may use: what the process may run on.
int available_threads();

}  // namespace simsgd

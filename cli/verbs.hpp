// The verbs of the command line, one file each. A verb registers its options and a callback; it throws
// ConfigError, RunError or Interrupted, and main turns these into exit codes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/language/assignment.hpp"
#include "sim/base/interrupts.hpp"

namespace CLI {
class App;
class Option;
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

void add_run(CLI::App& app, ExitCode& exit_code);
void add_sweep(CLI::App& app, ExitCode& exit_code);
void add_results(CLI::App& app, ExitCode& exit_code);
void add_advise(CLI::App& app, ExitCode& exit_code);
void add_report(CLI::App& app, ExitCode& exit_code);
void add_explore(CLI::App& app, ExitCode& exit_code);
void add_calibrate(CLI::App& app, ExitCode& exit_code);
void add_validate(CLI::App& app, ExitCode& exit_code);
void add_book(CLI::App& app, ExitCode& exit_code);
void add_claims(CLI::App& app, ExitCode& exit_code);
void add_check(CLI::App& app, ExitCode& exit_code);
void add_list(CLI::App& app, ExitCode& exit_code);
void add_schema(CLI::App& app, ExitCode& exit_code);
void add_bench(CLI::App& app, ExitCode& exit_code);
void add_explain(CLI::App& app, ExitCode& exit_code);
void add_import(CLI::App& app, ExitCode& exit_code);
void add_replay(CLI::App& app, ExitCode& exit_code);
void add_worker(CLI::App& app, ExitCode& exit_code);

/// More threads or processes at a time than any machine has cores for.
inline constexpr int kMostThreads = 1024;

/// As "2026-01-31", UTC.
std::string today();

/// Cores that numerics may use: what the process may run on.
int available_threads();

}  // namespace simsgd

// simsgd sweep: the points of a study, several at a time, stored, resumed and summed up.
#pragma once

#include <string>

#include "analysis/intervals.hpp"
#include "cli/verbs.hpp"

namespace simsgd {

struct SweepCommand {
  std::string study;      ///< a file, or "-"
  std::string database;   ///< -o; empty: results are only printed
  std::string artifacts;  ///< a directory, or empty
  std::string shard;      ///< "i/n", or empty
  std::string points;     ///< "1-4,9", "-" for standard input, or empty
  OverrideOptions overrides;
  int jobs = 0;             ///< 0: all cores
  int draws = kUsualDraws;  ///< of each point on a calibrated cluster
  int threads = 0;          ///< of each point; 0: the cores that `jobs` leave
  double timeout_s = 0;     ///< 0: none
  std::string memory;       ///< of each point, such as "4 GB", or empty
  double try_s = 5;         ///< for estimating times
  bool json = false, documents = false, check = false, force = false;
};

struct Study;
struct SweepSettings;
/// Throws ConfigError.
SweepSettings sweep_settings(const SweepCommand& command, const Study& study);

/// `sweep run`; returns the exit code. Throws ConfigError, RunError, Interrupted.
int run_sweep_command(const SweepCommand& command);

/// On stderr, where it takes a while: at once, and as it goes on.
void say_preparing(const Study& study, SweepSettings& settings);

/// `sweep plan`.
int plan_sweep_command(const SweepCommand& command);

void add_sweep_submit(CLI::App& sweep, ExitCode& exit_code);
void add_sweep_status(CLI::App& sweep, ExitCode& exit_code);

}  // namespace simsgd

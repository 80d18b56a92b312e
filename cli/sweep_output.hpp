// What `sweep run` prints: documents as they come or a table at the end, where the files lie, and what
// failed.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "analysis/runner.hpp"
#include "analysis/runs/sweep.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "results/expected.hpp"
#include "results/summary.hpp"

namespace simsgd {

/// `sweep run`, and what of it `sweep plan` takes.
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

class SweepOutput {
 public:
  SweepOutput(const SweepCommand& command, const SweepSettings& settings, std::string study_name);

  SweepListener listener();
  /// After the last point; returns the exit code.
  int finish();
  /// After an interruption: what is done.
  void stopped();

 private:
  void begun(const SweepBegin& begin);
  void got(const PointResult& result);
  void print_line(const PointResult& result, const RunRow& run);
  bool shows_rows() const;
  std::vector<SummaryColumn> columns() const;
  void print_files() const;

  const SweepCommand& command_;
  const SweepSettings& settings_;
  std::string study_name_;
  SweepBar bar_;
  std::size_t points_ = 0, to_run_ = 0, run_ = 0;
  std::vector<SweepPoint> shown_;
  std::deque<nlohmann::ordered_json> documents_;  // of these; null where it failed
  std::vector<ExpectedOutcome> outcomes_;
  std::vector<std::string> failures_;
};

/// What a machine has.
double machine_memory_bytes();

}  // namespace simsgd

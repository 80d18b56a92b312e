// A sweep: runs the points of a study, each in a process of its own, some at a time. What it gives does not
// depend on how many at a time, nor on whether a point was run now or found in the results.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/run_sink.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/point_loader.hpp"

namespace simsgd {

struct SweepSettings {
  int jobs = 1;                        ///< points at a time
  int threads = 1;                     ///< for the numerics of each
  Shard shard;                         ///< the part to run
  bool force = false;                  ///< run also what is done
  std::optional<double> timeout_s;     ///< a point that takes longer is ended and counts as failed
  std::optional<double> memory_bytes;  ///< likewise one that needs more of memory (RSS)
  std::filesystem::path database;      ///< where results are kept, or empty
  std::filesystem::path artifacts;     ///< a directory for the files of each point, or empty
  bool documents = false;              ///< keep whole documents; a result without one is run again
  int draws = 0;                       ///< for intervals on calibrated clusters (intervals.hpp)
  std::function<bool()> interrupted;
  PointsReady ready{};  ///< of the study's points, as they are examined
  /// What runs a point, in its child; empty: the simulator.
  std::function<RunOutcome(const Scenario&, const SimulationOptions&)> run{};
};

/// A point that is done.
struct PointResult {
  const SweepPoint& point;
  RunStatus status;
  std::string error;            ///< empty where ok
  std::function<RunRow()> run;  ///< reads what is kept of it; only until the listener returns
};

struct SweepBegin {
  std::size_t points = 0;  ///< of the shard
  std::size_t to_run = 0;  ///< of these; the others are done
  std::size_t again = 0;   ///< of those to run: have a result, but not the document that is asked for
  double memory_at_once_bytes = 0;  ///< estimated, of as many of the largest as run at a time
};

struct SweepProgress {
  std::size_t total = 0;  ///< points to run now
  std::size_t ended = 0;  ///< of these
  double elapsed_s = 0;
  const SweepPoint* last = nullptr;  ///< that ended just now, or null
  RunStatus status = RunStatus::ok;  ///< of `last`
};

struct SweepListener {
  std::function<void(const SweepBegin&)> begin;        ///< once; may be empty, as `progress`
  std::function<void(const PointResult&)> result;      ///< for each point of the shard, in the study's order
  std::function<void(const SweepProgress&)> progress;  ///< several times a second, and when a point ends
};

/// Where the files of a point lie.
std::filesystem::path artifact_directory(const std::filesystem::path& artifacts, const SweepPoint& point);

/// Those of the shard's points that have to be run: without a result, or without the document or the files
/// that are asked for.
std::vector<SweepPoint> points_to_run(const std::vector<SweepPoint>& points, const SweepSettings& settings,
                                      const RunSink& sink);

/// Gives the points of a study their keys; what those that have to be run will need. Throws as examine().
std::vector<PointEstimate> examine_points(const Study& study, std::vector<SweepPoint>& points,
                                          const SweepSettings& settings, const RunSink& sink);

/// Of the largest `jobs` estimates.
double memory_at_once_bytes(const std::vector<PointEstimate>& estimates, int jobs);

/// Throws ConfigError before anything runs or is written; Interrupted, after which the points that ended are
/// in the sink; RunError where the sink cannot be written. That a point fails is not an error of the sweep.
void run_sweep(const Study& study, const SweepSettings& settings, const SweepListener& listener);

/// Of a child that gave no answer; without its key.
RunRow failed_run(const ChildEnd& end, const Json& scenario);

// Seeds until certain: how many seeds of a combination of axes (a cell) must run. A function of the results
// of its lower seeds alone, so that neither --jobs nor shards nor kills change which runs there are.

/// How many seeds a cell needs, as far as `values` tells: the metric of its first seeds, in their order, none
/// of those that failed or have no value. Looks after at_least seeds, then after a quarter more, and so on
/// (few looks, since each is a chance to stop too early). Stops where every seed so far has a value and the
/// half-width of Student's 95 % interval is at most the share of the mean that the rule asks for; where
/// none has a value; and at at_most. More than `values.size()` means: run up to these, then ask again.
int seeds_needed(const SeedRule& rule, const std::vector<std::optional<double>>& values);

/// Which points of a sweep run, as results come in.
class SeedRounds {
 public:
  enum class State { needed, undecided, dropped };

  /// Without a rule every point is needed.
  SeedRounds(const std::optional<SeedRule>& rule, const std::vector<SweepPoint>& points);

  /// What the sink has already.
  void look(const std::vector<SweepPoint>& points, const RunSink& sink);
  void ended(const RunRow& run);
  /// Decides anew; call it between rounds.
  void decide(const std::vector<SweepPoint>& points);
  State of(std::size_t position) const { return states_[position]; }

 private:
  std::optional<SeedRule> rule_;
  std::vector<State> states_;                            // by position
  std::map<std::string, std::optional<double>> values_;  // by key, of runs that ended
};

}  // namespace simsgd

// How far the sweeps of a file are: what the store, spool files, the queue of Slurm and the processes that
// hold a spool file know of each point.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/runner.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/sweep_points.hpp"

namespace simsgd {

enum class PointState { done, running, queued, failed, missing };

struct SweepStanding {
  ResultStudy sweep;
  std::vector<PointState> points;  ///< of each, in the study's order
  std::size_t count(PointState state) const;
};

struct SweepStatus {
  std::vector<SweepStanding> sweeps;  ///< in the order in which they were first seen
  bool queue_unknown = false;         ///< something was submitted, and there is no queue to be asked
};

/// Changes nothing. `running`: in a shard or task that is being run; `queued`: in a task of Slurm that waits.
/// A sweep without shards that runs just now is not seen: its points are missing until they are done. Throws
/// ConfigError where there is nothing of that name.
SweepStatus sweep_status(const std::filesystem::path& database);

/// Points of the sweep `id` that tasks in the queue, or processes, have.
std::map<std::size_t, PointState> points_in_work(const std::filesystem::path& database, const std::string& id,
                                                 std::size_t points, bool& queue_unknown);

// How long a study will take, from tries: a few of its points, chosen so that every value of every axis is
// among them, run for a moment each. One that ends is measured; of one that does not, the time that its steps
// take is carried on to its last step. A point that was not tried takes as long as those tried that differ
// from it in the fewest axes, by steps and workers.

struct TimeTrial {
  int jobs = 1;      ///< at a time, as the sweep will
  int threads = 1;   ///< of each
  double try_s = 5;  ///< for all tries together, about
  int draws = 0;     ///< of a point on a calibrated cluster, for intervals
  std::function<bool()> interrupted;
};

struct TimeEstimates {
  std::vector<double> wall_s;  ///< of each of `points`; 0 where nothing is known
  std::size_t tried = 0;
  bool open_ended = false;  ///< some stop at a time or a target: they may take longer than told
};

/// `estimates`: of the same points, in their order, for their steps and workers. Throws Interrupted.
TimeEstimates estimate_times(const Study& study, const std::vector<SweepPoint>& points,
                             const std::vector<PointEstimate>& estimates, const TimeTrial& trial);

/// With `jobs` at a time, each taking the next point in order.
double wall_of_all_s(const std::vector<double>& wall_s, int jobs);

}  // namespace simsgd

// How far the sweeps of a file are: what the store, spool files, the queue of Slurm and the processes that
// hold a spool file know of each point.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/runs/run_row.hpp"

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

}  // namespace simsgd

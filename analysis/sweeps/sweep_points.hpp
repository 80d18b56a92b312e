// The points of a study as a sweep sees them: with the keys of their runs, the part that a shard has, and
// what is wrong with any of them before the first one runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/store/run_row.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd {

struct SweepPoint {
  std::size_t position = 0;  ///< in the study, from 0
  StudyPoint point;
  std::string key;      ///< of its run
  std::string slug;     ///< its label as a file name, different for each point of the study
  std::string learner;  ///< what varies of what it learns: equal where the same data are read
  std::size_t unit =
      0;  ///< what shards share out: its position, or where seeds depend on one another its cell
};

/// Of `count` equal parts, the `index`-th (from 1): each `count`-th point (or cell, see SweepPoint::unit).
struct Shard {
  int index = 1, count = 1;
  bool whole() const { return count == 1; }
  bool has(std::size_t unit) const {
    return unit % static_cast<std::size_t>(count) == static_cast<std::size_t>(index - 1);
  }
};

/// "2/4". Throws ConfigError.
Shard parse_shard(const std::string& text);

std::vector<SweepPoint> sweep_points(const Study& study);

SweepRow sweep_row(const Study& study, const std::vector<SweepPoint>& points);

/// What running a point will need.
struct PointEstimate {
  std::size_t position = 0;
  double memory_bytes = 0;  ///< of its process
  int workers = 0;          ///< simulated
  double steps = 0;         ///< of each worker; 0 where they follow from the run
};

struct Examination {
  std::vector<PointEstimate> estimates;
  /// What ended a child that examined points, such as too little memory: it will fail their runs, each by
  /// itself.
  std::vector<std::string> failures;
};

/// Makes the jobs of the points, in children (`jobs` at a time), without running them. What points have in
/// common is read, validated and built once. Throws ConfigError with everything that is wrong with any point,
/// in their order, each error once; Interrupted.
Examination examine(const Study& study, const std::vector<SweepPoint>& points, int jobs,
                    const std::function<bool()>& interrupted = {});

/// All points of a study, without the keys of their runs.
std::vector<SweepPoint> points_to_examine(const Study& study);

}  // namespace simsgd

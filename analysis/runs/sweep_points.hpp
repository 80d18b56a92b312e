// The points of a study as a sweep sees them: with the keys of their runs, the part that a shard has, and
// what is wrong with any of them before the first one runs.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analysis/runs/run_row.hpp"
#include "scenarios/language/study.hpp"
#include "scenarios/language/use.hpp"

namespace simsgd {

struct SweepPoint {
  std::size_t position = 0;  ///< in the study, from 0
  const StudyPoint& point;   ///< of the study, which outlives this
  std::string key;           ///< of its run
  std::string slug;          ///< its label as a file name, different for each point of the study
  std::string learner;       ///< what varies of what it learns: equal where the same data are read
  std::size_t unit =
      0;  ///< what shards share out: its position, or where seeds depend on one another its cell
};

/// Of `count` equal parts, the `index`-th (from 1): each `count`-th point (or cell, see SweepPoint::unit). Or
/// the points that are listed.
struct Shard {
  int index = 1, count = 1;
  std::vector<std::size_t> positions = {};  ///< ascending; not empty: these
  bool whole() const { return count == 1 && positions.empty(); }
  bool has(const SweepPoint& point) const { return has(point.position, point.unit); }
  bool has(std::size_t position, std::size_t unit) const {
    if (!positions.empty()) return std::binary_search(positions.begin(), positions.end(), position);
    return unit % static_cast<std::size_t>(count) == static_cast<std::size_t>(index - 1);
  }
};

/// "2/4". Throws ConfigError.
Shard parse_shard(const std::string& text);
/// "1-4,9", as `sweep plan` counts points from 1; spaces and line ends separate too. Throws ConfigError.
Shard parse_points(const std::string& text);
/// The reverse of parse_points.
std::string points_text(const std::vector<std::size_t>& positions);
/// Of the spool file: different for different parts.
std::string shard_name(const Shard& shard);

/// Told as points are examined, how many are; may be empty.
using PointsReady = std::function<void(std::size_t points)>;

/// All points of a study, with the keys of their runs: loads each, in children (`jobs` at a time). Throws
/// ConfigError with what is wrong with any of them, in their order, each error once; RunError, Interrupted.
std::vector<SweepPoint> sweep_points(const Study& study, int jobs = 1,
                                     const std::function<bool()>& interrupted = {});

/// A coordinate of a point, with what the study says of its axis.
ResultCoordinate coordinate_of(const Study& study, const StudyPoint& point, std::size_t place);
/// Points as they are kept, before anything ran.
ResultPoint result_point(const Study& study, const SweepPoint& point);
ResultStudy result_study(const Study& study, const std::vector<SweepPoint>& points);

/// What running a point will need.
struct PointEstimate {
  std::size_t position = 0;
  double memory_bytes = 0;  ///< of its process
  int workers = 0;          ///< simulated
  double steps = 0;         ///< of each worker; 0 where they follow from the run
  int runs_per_draw = 0;    ///< for intervals (analysis/runner.hpp)
};

struct Examination {
  std::vector<PointEstimate> estimates;
  /// What ended a child that examined points, such as too little memory: it will fail their runs, each by
  /// itself.
  std::vector<std::string> failures;
};

/// Loads the points, in children (`jobs` at a time), gives them their keys, and makes the jobs of those that
/// will run (`runs`, asked in a child of a point that has its key), without running them. What points have in
/// common is read, validated and built once. Throws ConfigError with everything that is wrong with any point,
/// in their order, each error once; RunError where they cannot be loaded; Interrupted.
Examination examine(const Study& study, std::vector<SweepPoint>& points, int jobs,
                    const std::function<bool(const SweepPoint&)>& runs,
                    const std::function<bool()>& interrupted, const PointsReady& ready = {});
/// The same of points that will all run, without their keys.
Examination examine(const Study& study, std::vector<SweepPoint> points, int jobs,
                    const std::function<bool()>& interrupted = {});

/// All points of a study, without the keys of their runs.
std::vector<SweepPoint> points_to_examine(const Study& study);

// What `simsgd check` does with a file: the examination that a run begins with, of a scenario, of every point
// of a study, or of a part that scenarios use.

struct CheckSettings {
  int jobs = 1;  ///< children at a time
  std::function<bool()> interrupted;
};

/// What the file is: "a scenario", "a study of 12 points", "a device". Throws ConfigError with everything
/// that is wrong with it, as a run would; RunError where it cannot be examined; Interrupted.
std::string check_file(const std::string& path, const Overrides& overrides, const CheckSettings& settings);

}  // namespace simsgd

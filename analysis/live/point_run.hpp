// One point, simulated in a child: the same run as that of `sweep run`.
#pragma once

#include <string>

#include "analysis/store/run_row.hpp"
#include "analysis/sweeps/child_pool.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd::live {

/// In the child. The run as text, or what makes the point impossible.
std::string simulate_point(const Study& study, const StudyPoint& point, int threads);

struct PointEnd {
  std::string impossible;  ///< why there can be no such run; else
  RunRow run;
};
/// What the child of a point with that key gave. Throws ConfigError where the point cannot be loaded.
PointEnd end_of_point(const Study& study, const StudyPoint& point, const std::string& key,
                      const ChildEnd& end);

}  // namespace simsgd::live

// Runs on their way to a target, which some do not reach.
#pragma once

#include <vector>

#include "analysis/report/charts.hpp"
#include "analysis/statistics/survival.hpp"

namespace simsgd::report {

/// Whether runs of this study have a target at all.
bool has_target(const ChartSource& source);

/// A run's time to its target; one that did not meet it was seen until its end.
statistics::Observation observation_of(const ResultPoint& run);
std::vector<statistics::Observation> observations_of(const GridCell& cell);

}  // namespace simsgd::report

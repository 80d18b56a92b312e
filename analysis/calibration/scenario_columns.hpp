// Columns of measurements that a scenario tells too. What is fitted for some measurements only is written
// into a cluster with the scenarios that it is for, so a condition on any other column cannot be written.
#pragma once

#include <optional>
#include <string>

#include "analysis/calibration/selection.hpp"

namespace simsgd {

/// As scenarios are asked (pointer: value, list, or at_least and at_most); nothing where a condition is of
/// measurements alone.
std::optional<Json> where_of(const Selection& selection);

/// The first column that no scenario can be asked about, or only in another way; "" where there is none.
std::string column_of_measurements(const Selection& selection);

/// For error texts.
inline constexpr const char* kScenarioColumns = "algorithm, workload, workers, nodes or batch";

}  // namespace simsgd

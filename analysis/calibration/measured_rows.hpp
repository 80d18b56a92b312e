// The measured values that scenarios carry in `expected`, as measurements: each is predicted by a run of its
// own point of the study.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/language/study.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

/// Columns of such a measurement that say which run it is of: the study as it was named, and the point
/// from 1.
inline constexpr const char* kStudyColumn = "study";
inline constexpr const char* kPointColumn = "point";

/// A study with values set, as those of `set`. Throws ConfigError.
Study study_with(const std::string& file, const std::map<std::string, Json>& set);

/// One for each `expected` value of each point, in the study's order. Columns beside study and point:
/// algorithm, workload, batch, and the study's axes by their short names. Throws ConfigError.
std::vector<Measurement> expected_rows(const std::string& file, const Study& study);

}  // namespace simsgd

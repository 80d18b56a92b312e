// From the axes of a study to its points.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd {

/// Of a study; each is some kilobytes.
inline constexpr std::size_t kMostPoints = 100000;

/// The points of a scenario's validated "axes" and "seeds" (either may be missing). `origins`: of `scenario`.
/// What the schema cannot say is added to `errors`.
std::vector<StudyPoint> expand_axes(const Json& scenario, const Provenance& origins, ErrorList& errors);

/// The values of a log_range or range object. Whole bounds give whole numbers; bounds with the same unit give
/// text with it. An empty list where the bounds are impossible.
std::vector<Json> log_range(const Json& range);
std::vector<Json> linear_range(const Json& range);

}  // namespace simsgd

// `simsgd results list` and `show`, and all points as rows: what a store holds, without statistics.
#pragma once

#include <string>

#include "analysis/faces/table.hpp"
#include "analysis/frame/frame.hpp"

namespace simsgd::questions {

using namespace frame;

/// A row for each study: its points, how many are done, its axes; the metrics that its runs have.
Table studies_table(const StoredResults& results, const std::string& file);

/// A row for each point of a frame: where it stands, how it ended, and, for programs, all its metrics.
Table points_table(const Frame& frame);

/// A point by its number, from 1 as `sweep plan` counts: all its metrics, its busiest links. Throws
/// ConfigError.
Table point_table(const Frame& frame, const std::string& number);

}  // namespace simsgd::questions

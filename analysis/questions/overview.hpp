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

/// Adds to that table where nine tenths of a run's times may lie: for programs the ends of every metric that
/// has such an interval, "NAME_low_90" and "NAME_high_90", for people the mean time of a step. Returns how
/// many results were kept without intervals.
std::size_t add_intervals(const Frame& frame, Table& points);

/// A point by its number, from 1 as `sweep plan` counts: all its metrics, its busiest links. Throws
/// ConfigError.
Table point_table(const Frame& frame, const std::string& number);

}  // namespace simsgd::questions

// Runs on their way to a target, which some do not reach.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/report/charts.hpp"
#include "analysis/tables/measure.hpp"

namespace simsgd::report {

/// Whether runs of this study have a target at all.
bool has_target(const ChartSource& source);

/// What the runs of a cell have of a metric; of the time to a target, a run that misses it was seen until its
/// end.
std::vector<tables::Sample> samples_of(const GridCell& cell, const std::string& metric);

/// Cells that differ in the series alone: those that a chart compares.
std::map<std::vector<std::size_t>, std::vector<const GridCell*>> compared_cells(const Grid& grid);

}  // namespace simsgd::report

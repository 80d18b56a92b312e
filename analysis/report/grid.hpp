// A study as a grid: its axes with their values, and the runs of each cell, which differ by seed alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/store/results.hpp"

namespace simsgd::report {

struct GridAxis {
  std::string name;                 ///< "algorithm"
  std::vector<std::string> labels;  ///< of its values, in the study's order
  std::vector<double> numbers;      ///< the values, where all are numbers; else empty
  bool stragglers = false;          ///< it, or what it was zipped with, varies stragglers
};

struct GridCell {
  std::vector<std::size_t> at;           ///< of each axis, which label
  std::vector<const ResultPoint*> runs;  ///< that ended well, in the order of their seeds
};

struct Grid {
  std::vector<GridAxis> axes;
  std::vector<GridCell> cells;         ///< in the study's order; some have no run
  std::optional<std::size_t> series;   ///< axis that is told by colour: the algorithm, else a short one
  std::optional<std::size_t> workers;  ///< axis of /cluster/workers
  std::vector<std::string>
      averaged;           ///< axes of values drawn at random, over which is averaged as over seeds
  std::size_t seeds = 1;  ///< runs of the fullest cell
};

/// Axes that another one determines (zipped with it) are left out, and so are those of one value. The study
/// must outlive it.
Grid make_grid(const ResultStudy& study);

/// Values of a metric in a cell's runs, those that have it.
std::vector<double> values_of(const GridCell& cell, const std::string& metric);
/// Whether any run has it.
bool has_metric(const Grid& grid, const std::string& metric);

/// Field of an axis in charts.
std::string field_of(std::size_t axis);
/// A column and a cell for each axis, and the fields of those axes that a chart does not show itself.
std::vector<Column> axis_columns(const Grid& grid);
std::vector<Cell> axis_cells(const Grid& grid, const GridCell& cell);
std::vector<std::string> filters_without(const Grid& grid,
                                         const std::vector<std::optional<std::size_t>>& without);

}  // namespace simsgd::report

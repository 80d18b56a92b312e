// What charts show of a frame: the axes that readers choose from, and the runs of each cell, which differ by
// seed alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/frame/frame.hpp"
#include "analysis/report/chart.hpp"

namespace simsgd::report {

struct GridCell {
  std::vector<std::size_t> at;           ///< of each axis, which value
  std::vector<const ResultPoint*> runs;  ///< that ended well, in the order of their seeds
};

struct Grid {
  std::vector<frame::Axis> axes;
  std::vector<GridCell> cells;            ///< some have no run
  std::optional<std::size_t> series;      ///< axis that is told by colour: the algorithm, else a short one
  std::optional<std::size_t> workers;     ///< axis of /cluster/workers
  std::optional<std::size_t> stragglers;  ///< axis that varies stragglers, or goes with one that does
  /// Axes of values drawn at random, over which is averaged as over seeds.
  std::vector<std::string> averaged;
  std::size_t seeds = 1;  ///< runs of the fullest cell
};

/// Axes that another one determines (zipped with it) are left out, and so are those of one value.
Grid make_grid(const frame::Frame& frame);

/// Values of a metric in a cell's runs, those that have it.
std::vector<double> values_of(const GridCell& cell, const std::string& metric);
/// Whether any run has it.
bool has_metric(const Grid& grid, const std::string& metric);
/// Cells that differ in the series alone.
std::vector<std::vector<const GridCell*>> compared_cells(const Grid& grid);

/// Field of an axis in charts.
std::string field_of(std::size_t axis);
/// A column and a cell for each axis, and the fields of those axes that a chart does not show itself.
std::vector<Column> axis_columns(const Grid& grid);
std::vector<Cell> axis_cells(const Grid& grid, const GridCell& cell);
std::vector<std::string> filters_without(const Grid& grid,
                                         const std::vector<std::optional<std::size_t>>& without);

}  // namespace simsgd::report

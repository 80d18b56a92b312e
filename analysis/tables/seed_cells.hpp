// The cells of a table over seeds, before they are text: what each says, and which are best.
#pragma once

#include <string>
#include <vector>

#include "analysis/tables/cell.hpp"
#include "analysis/tables/grid.hpp"

namespace simsgd::tables {

/// What stands in a row and a column: of a place, a measure.
struct TableCell {
  bool there = false;
  std::vector<Sample> samples;
  CellSummary summary;
  enum class Mark { none, best, tie, undecided } mark = Mark::none;
};

/// The whole table before it is text: rows of cells, under columns of a place and a measure.
struct Cells {
  std::vector<Place> rows, columns;
  std::vector<Measure> measures;
  std::vector<std::vector<TableCell>> cells;  ///< [row][column x measure]
  std::vector<double> taus;  ///< up to which restricted means of compared cells are, each once

  const Measure& measure(std::size_t column) const { return measures[column % measures.size()]; }
  const Place& place(std::size_t column) const { return columns[column / measures.size()]; }
  std::size_t width() const { return columns.size() * measures.size(); }
};

/// The first `row_axes` of the grid's axes make the rows, the others the columns.
Cells cells_of(const Grid& grid, std::size_t row_axes, std::vector<Measure> measures,
               const CellQuestion& question);

}  // namespace simsgd::tables

// `simsgd results table`: a measure over the axes of a study, mean or median over seeds in each cell.
#pragma once

#include <string>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/frame/cell.hpp"

namespace simsgd::questions {

using namespace frame;

struct SeedTableQuestion {
  std::vector<std::string> rows;      ///< axes; none: all that vary and are no column
  std::vector<std::string> columns;   ///< axes
  std::vector<std::string> measures;  ///< one at least; with `columns`, one exactly
  CellQuestion cell;
};

/// Among the cells of a row that differ in what is chosen (of a column, where no column is chosen) the best
/// is marked "*", where the measure has a better way, "=" what ties with it, and "~" what differs from it by
/// less than the model is off by (statistics::contest, with Holm's correction). Cells that differ in a
/// circumstance (frame.hpp) are not compared. `errors`: what was wrong with the question so far. The best is
/// chosen after the fact, which favours it a little. Throws ConfigError where the question names what is not
/// there, or leaves an axis out that varies inside a cell; RunError where no run has a result.
Table seed_table(const Frame& frame, const SeedTableQuestion& question, std::vector<InputError> errors);

}  // namespace simsgd::questions

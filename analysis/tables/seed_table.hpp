// `simsgd results table`: a measure over the axes of a study, mean or median over seeds in each cell.
#pragma once

#include <string>
#include <vector>

#include "analysis/tables/cell.hpp"
#include "analysis/tables/result_table.hpp"

namespace simsgd::tables {

struct SeedTableQuestion {
  std::vector<std::string> rows;      ///< axes; none: all that vary and are no column
  std::vector<std::string> columns;   ///< axes
  std::vector<std::string> measures;  ///< one at least; with `columns`, one exactly
  CellQuestion cell;
};

/// In each row (without columns: in each column) the best is marked "*", where the measure has a better way,
/// "=" what ties with it, and "~" what differs from it by less than the model is off by (statistics::contest,
/// with Holm's correction over the row). The best is chosen after the fact, which favours it a little. Throws
/// ConfigError where the question names what is not there, or leaves an axis out that varies inside a cell;
/// RunError where no run has a result.
ResultTable seed_table(const Selection& selection, const SeedTableQuestion& question);

}  // namespace simsgd::tables

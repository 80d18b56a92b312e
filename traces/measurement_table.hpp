// Our own table of measurements, data.csv: what `simsgd import` writes, and reads again. RFC 4180; one
// measurement per row; the columns below, then one for each label, in alphabetical order. An empty cell: not
// given.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/measurements.hpp"

namespace simsgd {

struct MeasurementColumn {
  const char *name, *unit, *definition;
};
/// All but the labels'.
const std::vector<MeasurementColumn>& measurement_columns();
bool is_measurement_column(std::string_view name);

/// What columns a table of a format must have, and may have beside ours and labels.
struct ColumnRules {
  std::vector<std::string> needed;
  std::string known;  ///< a column of this format alone
  const char *remedy_of_name, *remedy_of_missing;
};
/// Throws ConfigError, which calls the table `file`.
void check_columns(const std::vector<std::string>& names, const ColumnRules& rules, const std::string& file);
/// Puts a cell into the row; whether it can be read.
bool put_cell(const std::string& column, const std::string& cell, Measurement& row);

/// Gives the text to `write`, piece by piece; rows in their order.
void write_measurement_table(const std::vector<Measurement>& rows,
                             const std::function<void(const std::string&)>& write);

}  // namespace simsgd

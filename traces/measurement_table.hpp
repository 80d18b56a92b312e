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

/// Gives the text to `write`, piece by piece; rows in their order.
void write_measurement_table(const std::vector<Measurement>& rows,
                             const std::function<void(const std::string&)>& write);

}  // namespace simsgd

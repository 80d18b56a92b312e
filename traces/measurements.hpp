// One table of measurements: what every importer makes of its file, what `simsgd import` writes, and what
// calibrations are fitted to and judged by.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace simsgd {

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

/// One measured value, in SI, with what it was measured of. What a file does not tell is 0, empty or
/// kNotGiven.
struct Measurement {
  std::string quantity;     ///< name with its unit: "time_s", "throughput_samples_per_s", "compute_s", ...
  std::string operation{};  ///< of a collective or message: "all_reduce", "ping_pong", ...; else empty
  int workers = 0;
  int nodes = 0;
  double bytes = kNotGiven;  ///< as CollectiveOptions::bytes: the whole array
  double value = kNotGiven;
  double deviation = kNotGiven;  ///< its standard deviation or half-width, as the file gives it
  std::uint64_t samples = 1;     ///< how many samples `value` summarises
  std::string campaign{};        ///< values of one campaign share what drifts from day to day
  std::map<std::string, std::string> labels{};  ///< anything else that tells rows apart
  std::string source{};                         ///< the file, as it was named
  std::size_t line = 0;                         ///< in it, from 1; 0: not from a line
};

/// What an importer met in one file.
struct ImportReport {
  std::string file;
  std::string format;
  std::size_t rows = 0;                           ///< measurements made
  std::map<std::string, std::size_t> understood;  ///< what was read and left out on purpose, by kind
  std::map<std::string, std::size_t> ignored;     ///< what was not understood, by reason
};

struct Measurements {
  std::vector<Measurement> rows;
  std::vector<ImportReport> reports;
};

// The table as a file, data.csv, which `simsgd import` writes, and reads again. RFC 4180; one measurement per
// row; the columns below, then one for each label, in alphabetical order. An empty cell: not given.

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

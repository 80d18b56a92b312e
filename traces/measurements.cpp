// measurements: our own table, as `simsgd import -o data.csv` writes it. What is read of it is what was
// written.
#include "traces/measurements.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kPiece_bytes = std::size_t{1} << 20;

void append_number(std::string& out, double value) {
  if (!std::isnan(value)) fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value);
}

template <class Whole>
void append_count(std::string& out, Whole value) {
  if (value != 0) fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value);
}

void append_row(std::string& out, const Measurement& row, const std::vector<std::string>& labels) {
  append_csv(out, row.quantity);
  append_csv(out += ',', row.operation);
  append_count(out += ',', row.workers);
  append_count(out += ',', row.nodes);
  append_number(out += ',', row.bytes);
  append_number(out += ',', row.value);
  append_number(out += ',', row.deviation);
  append_count(out += ',', row.samples);
  append_csv(out += ',', row.campaign);
  append_csv(out += ',', row.source);
  append_count(out += ',', row.line);
  for (const std::string& label : labels) {
    out += ',';
    if (const auto found = row.labels.find(label); found != row.labels.end()) append_csv(out, found->second);
  }
  out += "\n";
}

}  // namespace

const std::vector<MeasurementColumn>& measurement_columns() {
  static const std::vector<MeasurementColumn> columns = {
      {"quantity", "", "what was measured, by a name with its unit: `time_s`, `throughput_samples_per_s`"},
      {"operation", "", "of a collective or a message: `all_reduce`, `ping_pong`; else empty"},
      {"workers", "", "ranks that took part"},
      {"nodes", "", "machines that they were on"},
      {"bytes", "B", "size of the whole array; of an all-to-all, of what one rank gives"},
      {"value_SI", "of the quantity", "what was measured, in SI"},
      {"deviation_SI", "of the quantity",
       "standard deviation or half-width of the value, as the file gives it"},
      {"samples", "", "how many samples the value is the mean of"},
      {"campaign", "", "values of one campaign share what drifts from day to day"},
      {"source", "", "the file, as it was named"},
      {"line", "", "in the file, from 1; empty where it is not from a line"}};
  return columns;
}

bool is_measurement_column(std::string_view name) {
  const auto& columns = measurement_columns();
  return std::ranges::any_of(columns, [name](const auto& column) { return column.name == name; });
}

void check_columns(const std::vector<std::string>& names, const ColumnRules& rules, const std::string& file) {
  std::vector<InputError> errors;
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      errors.push_back({file, "", "has two columns with the same name", printable(name), "Keep one of them"});
    else if (name != rules.known && !is_measurement_column(name) && !is_label_name(name))
      errors.push_back(
          {file, "", "has a column whose name cannot be a label", printable(name), rules.remedy_of_name});
  for (const std::string& needed : rules.needed)
    if (!seen.contains(needed))
      errors.push_back({file, "", "has no column " + needed, "", rules.remedy_of_missing});
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

bool put_cell(const std::string& name, const std::string& cell, Measurement& row) {
  if (cell.empty()) return true;
  int count = 0;
  double number = 0;
  if (name == "quantity") return row.quantity = cell, is_label_name(cell);
  if (name == "operation") return row.operation = cell, true;
  if (name == "campaign") return row.campaign = cell, true;
  if (name == "source") return row.source = cell, true;
  if (name == "workers") return read_count(cell, 0, row.workers);
  if (name == "nodes") return read_count(cell, 0, row.nodes);
  if (name == "bytes") return read_number(cell, row.bytes);
  if (name == "value_SI") return read_number(cell, row.value);
  if (name == "deviation_SI") return read_number(cell, row.deviation);
  if (name == "samples") {
    if (!read_number(cell, number) || number < 1 || number >= 0x1p53) return false;
    return row.samples = static_cast<std::uint64_t>(number), true;
  }
  if (name == "line") return read_count(cell, 0, count) && (row.line = static_cast<std::size_t>(count), true);
  row.labels[name] = cell;
  return true;
}

void write_measurement_table(const std::vector<Measurement>& rows,
                             const std::function<void(const std::string&)>& write) {
  std::set<std::string> names;
  for (const Measurement& row : rows) {
    auto known = names.begin();
    for (const auto& [name, value] : row.labels)
      known = std::next(known != names.end() && *known == name ? known : names.insert(name).first);
  }
  const std::vector<std::string> labels(names.begin(), names.end());
  std::string text;
  for (const MeasurementColumn& column : measurement_columns())
    text += (text.empty() ? "" : ",") + std::string(column.name);
  for (const std::string& label : labels) text += "," + label;
  text += "\n";
  for (const Measurement& row : rows) {
    append_row(text, row, labels);
    if (text.size() < kPiece_bytes) continue;
    write(text);
    text.clear();
  }
  write(text);
}

}  // namespace simsgd

namespace simsgd::importers {

namespace {

void read_measurement_table(Input& input, ImportedFile& file) {
  CsvReader reader(input, ',');
  std::vector<std::string> names, cells;
  if (!reader.record(names)) return;
  check_columns(names,
                {{"quantity", "value_SI"},
                 "",
                 "Use letters, digits and \"_\", or import the file by a map (--map)",
                 "Import it by a map (--map)"},
                file.name());
  while (reader.record(cells)) {
    if (cells.size() != names.size()) {
      file.ignore("rows that do not have the header's columns");
      continue;
    }
    Measurement row;
    std::string wrong;
    for (std::size_t i = 0; i < cells.size() && wrong.empty(); ++i)
      if (!put_cell(names[i], cells[i], row)) wrong = names[i];
    if (wrong.empty() && (row.quantity.empty() || std::isnan(row.value))) wrong = "value_SI";
    if (row.source.empty()) row.line = reader.line();  // a row that was written by hand
    if (wrong.empty())
      file.add(std::move(row));
    else
      file.ignore("rows whose " + printable(wrong) + " cannot be read");
  }
}

bool is_measurement_table(std::string_view head) {
  return head.starts_with("quantity,operation,") || head.starts_with("\xEF\xBB\xBFquantity,operation,");
}

}  // namespace

std::vector<ImportFormat> measurements() {
  return {{{.name = "measurements", .summary = "the table that simsgd import writes", .citation = ""},
           is_measurement_table,
           make_importer<FileImporter<read_measurement_table>>}};
}

}  // namespace simsgd::importers

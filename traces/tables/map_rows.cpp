// What a map makes of one row.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/printable.hpp"
#include "traces/reading/text.hpp"
#include "traces/reading/units_of_text.hpp"
#include "traces/tables/map.hpp"

namespace simsgd {

namespace {

std::string_view cell_at(const MapCells& cells, int place) {
  return place < 0 ? std::string_view() : trimmed(cells[static_cast<std::size_t>(place)]);
}

// As numbers where both are.
bool same_cell(std::string_view cell, std::string_view value) {
  double a = 0, b = 0;
  return cell == value || (read_number(cell, a) && read_number(value, b) && a == b);
}

// "5 us" is a number in a unit of its own; "abc" is none.
bool has_own_unit(std::string_view cell) {
  return !cell.empty() && (is_digit(cell[0]) || (cell.size() > 1 && cell[0] == '-' && is_digit(cell[1]))) &&
         cell.find_first_not_of("0123456789.+-eE") != std::string_view::npos;
}

bool read_cell(std::string_view cell, double& value, ImportedFile& file) {
  if (read_number(cell, value)) return true;
  if (cell.empty())
    file.understand("empty cells");
  else
    file.ignore(has_own_unit(cell) ? "cells with a unit of their own" : "cells that are no finite number");
  return false;
}

}  // namespace

bool Mapping::admitted(const MapCells& cells) const {
  return std::all_of(filters_.begin(), filters_.end(), [&cells](const Filter& filter) {
    const std::string_view cell = cell_at(cells, filter.place);
    return std::any_of(filter.admitted.begin(), filter.admitted.end(),
                       [cell](const std::string& value) { return same_cell(cell, value); });
  });
}

bool Mapping::divide(const std::vector<int>& over, const MapCells& cells, double& value,
                     ImportedFile& file) const {
  for (const int place : over) {
    double divisor = 0;
    if (!read_cell(cell_at(cells, place), divisor, file)) return false;
    if (divisor == 0) {
      file.ignore("values that are divided by 0");
      return false;
    }
    value /= divisor;
  }
  return true;
}

bool Mapping::describe(const MapCells& cells, Measurement& row, ImportedFile& file) const {
  row.operation = printable(std::string(cell_at(cells, operation_)));
  row.campaign = printable(std::string(cell_at(cells, campaign_)));
  for (const Label& label : labels_) {
    const std::string_view cell = cell_at(cells, label.from);
    if (cell.empty()) continue;
    std::string text(cell);
    if (!label.over.empty()) {
      double value = 0;
      if (!read_cell(cell, value, file) || !divide(label.over, cells, value, file)) return false;
      text = fmt::format("{:.0f}", label.times * value);
    }
    row.labels[label.name] = printable(text);
  }
  const auto count = [&cells](int place, int& value) {
    const std::string_view cell = cell_at(cells, place);
    return cell.empty() || read_count(cell, 1, value);
  };
  if (!count(workers_, row.workers) || !count(nodes_, row.nodes)) {
    file.ignore("rows whose workers or nodes are no whole number");
    return false;
  }
  const std::string_view size = cell_at(cells, bytes_);
  if (!size.empty() && !read_number(size, row.bytes)) {
    file.ignore("sizes that are no number");
    return false;
  }
  row.bytes = in_si(row.bytes, bytes_scale_);
  return true;
}

void Mapping::add(const MapCells& cells, const ImportConstants& constants, std::size_t line,
                  ImportedFile& file) const {
  if (!admitted(cells)) return file.understand("rows that \"where\" leaves out");
  Measurement row;
  row.line = line;
  if (!describe(cells, row, file)) return;
  complete_with(constants_, row);
  complete_with(constants, row);
  for (const Value& value : values_) add_one(value, cells, row, file);
}

void Mapping::add_one(const Value& value, const MapCells& cells, Measurement row, ImportedFile& file) const {
  double minus = 0, samples = 0;
  if (!read_cell(cell_at(cells, value.from), row.value, file)) return;
  if (value.minus >= 0 && !read_cell(cell_at(cells, value.minus), minus, file)) return;
  row.value -= minus;
  if (!divide(value.over, cells, row.value, file)) return;
  row.value = in_si(row.value, value.scale);
  row.quantity = value.quantity;
  const std::string_view deviation = cell_at(cells, value.deviation);
  if (!deviation.empty() && read_cell(deviation, row.deviation, file))
    row.deviation = in_si(row.deviation, value.scale);
  if (read_number(cell_at(cells, value.samples), samples) && samples >= 1 && samples < 0x1p53)
    row.samples = static_cast<std::uint64_t>(samples);
  for (const auto& [name, text] : value.labels) row.labels[name] = text;
  file.add(std::move(row));
}

}  // namespace simsgd

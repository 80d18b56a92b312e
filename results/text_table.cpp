#include "results/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

struct UnitOfMeasure {
  const char* name;
  double size;
  double from;  // the least that is told in it
};

constexpr UnitOfMeasure kTimes[] = {{"ns", 1e-9, 1e-9}, {"us", 1e-6, 1e-6}, {"ms", 1e-3, 1e-3},  {"s", 1, 1},
                                    {"min", 60, 120},   {"h", 3600, 7200},  {"d", 86400, 172800}};
constexpr UnitOfMeasure kBytes[] = {
    {"B", 1, 1}, {"kB", 1e3, 1e3}, {"MB", 1e6, 1e6}, {"GB", 1e9, 1e9}, {"TB", 1e12, 1e12}};

// 0 where there is none.
double smallest(const std::vector<double>& values) {
  double least = 0;
  for (const double value : values) {
    const double size = std::fabs(value);
    if (size > 0 && std::isfinite(size) && (least == 0 || size < least)) least = size;
  }
  return least;
}

int decimals_of(double value) {
  if (value == 0 || value >= 10) return 1;
  return std::min(6, 2 - static_cast<int>(std::floor(std::log10(value))));
}

template <std::size_t count>
CommonUnit common(const UnitOfMeasure (&units)[count], const std::vector<double>& values) {
  const double least = smallest(values);
  const UnitOfMeasure* chosen = units;
  for (const UnitOfMeasure& unit : units)
    if (least > 0 ? least >= unit.from : unit.size == 1) chosen = &unit;
  return {chosen->name, chosen->size, decimals_of(least / chosen->size)};
}

}  // namespace

std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t shown = shown_width(text);
  return shown < width ? std::string(width - shown, ' ') + text : text;
}

std::string pad_right(const std::string& text, std::size_t width) {
  const std::size_t shown = shown_width(text);
  return shown < width ? text + std::string(width - shown, ' ') : text;
}

std::string grouped(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", std::fabs(value), decimals);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (auto at = static_cast<std::ptrdiff_t>(point) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (std::signbit(value) && value != 0 ? "-" : "") + digits;
}

std::string shown_share(double share) {
  constexpr double kRounding = 1e-9;
  if (share > kRounding && share <= 0.005) return "<1 %";
  if (share >= 0.995 && share < 1 - kRounding) return ">99 %";
  return fmt::format("{:.0f} %", std::nearbyint(100 * share) + 0.0);  // + 0.0: without the sign of a 0
}

CommonUnit common_time_unit(const std::vector<double>& seconds) { return common(kTimes, seconds); }
CommonUnit common_bytes_unit(const std::vector<double>& bytes) { return common(kBytes, bytes); }
CommonUnit common_unit(const std::string& name, double size, const std::vector<double>& values) {
  return {name, size, decimals_of(smallest(values) / size)};
}

std::string TextTable::text() const {
  const auto is_rule = [](const std::vector<std::string>& row) { return row.size() == 1 && row[0] == "-"; };
  std::vector<std::vector<std::string>> shown = rows;
  for (std::vector<std::string>& row : shown)
    for (std::string& cell : row) cell = printable(cell);
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : shown) {
    if (is_rule(row)) continue;
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  }
  std::size_t width = 0;
  for (const std::size_t each : widths) width += each + (width > 0 ? 2 : 0);
  std::string text;
  for (const std::vector<std::string>& row : shown) {
    std::string line = is_rule(row) ? std::string(width, '-') : "";
    for (std::size_t i = 0; i < row.size() && !is_rule(row); ++i) {
      if (i > 0) line += "  ";
      line += i < left ? pad_right(row[i], widths[i]) : pad_left(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace simsgd

#include "sim/base/field_reading.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"

namespace simsgd::fields {

std::string bounds_text(const Range& range) {
  const auto bound = [](double value, const char* words) {
    return std::isfinite(value) ? fmt::format("{} {}", words, value) : "";
  };
  const std::string low = bound(range.at_least, " of at least") + bound(range.above, " above");
  const bool capped = range.at_most < 2147483647;
  const std::string high = (capped ? bound(range.at_most, " of at most") : "") + bound(range.below, " below");
  if (low.empty() || high.empty()) return low + high;
  if (std::isfinite(range.at_least) && capped)
    return fmt::format(" from {} to {}", range.at_least, range.at_most);
  return low + " and" + high;
}

void check_bounds(const std::string& key, const Range& range, double value, const std::string& what) {
  if (!range.admits(value))
    reject(key, "is out of range", fmt::format("Give {}{}", what, bounds_text(range)));
}

double read_number(const std::string& key, const Range& range, const Json& json) {
  if (!json.is_number()) reject(key, "is not a number", "Give a number" + bounds_text(range));
  const double value = json.get<double>();
  check_bounds(key, range, value, "a number");
  return value;
}

double read_quantity(const std::string& key, const Range& range, Dimension dimension, const Json& json) {
  double value = 0;
  if (json.is_number()) {
    value = json.get<double>();
  } else {
    const ParsedQuantity parsed = json.is_string() ? parse_quantity(json.get<std::string>(), dimension)
                                                   : ParsedQuantity{false, 0, "is not a quantity"};
    if (!parsed.ok) reject(key, parsed.problem, fmt::format("Write {}", dimension_example(dimension)));
    value = parsed.value;
  }
  if (!range.admits(value)) check_bounds(key, range, value, fmt::format("a {}", dimension_name(dimension)));
  return value;
}

double read_amount(const std::string& key, const Range& range, DrawUnit unit, const Json& json) {
  if (unit == DrawUnit::seconds) return read_quantity(key, range, Dimension::time_s, json);
  if (unit == DrawUnit::factor && !json.is_number())
    reject(key, "is not a plain number", "Give a factor without a unit, such as 1.5");
  if (!json.is_number()) (void)Amount{0, true}.in(unit, key);
  return read_number(key, range, json);
}

bool put(Json& json, double value) {
  if (!std::isfinite(value)) return false;
  if (std::trunc(value) == value && std::fabs(value) < 0x1p53)
    json = static_cast<std::int64_t>(value);
  else
    json = value;
  return true;
}

}  // namespace simsgd::fields

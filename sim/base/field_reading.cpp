#include "sim/base/field_reading.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"

namespace simsgd::fields {

std::string bounds_text(const Json& schema) {
  const auto bound = [&schema](const char* key, const char* words) {
    return schema.contains(key) ? fmt::format("{} {}", words, schema[key].get<double>()) : "";
  };
  const std::string low = bound("minimum", " of at least") + bound("exclusiveMinimum", " above");
  const bool capped = schema.contains("maximum") && schema["maximum"].get<double>() < 2147483647;
  const std::string high =
      (capped ? bound("maximum", " of at most") : "") + bound("exclusiveMaximum", " below");
  if (low.empty() || high.empty()) return low + high;
  if (schema.contains("minimum") && capped)
    return fmt::format(" from {} to {}", schema["minimum"].get<double>(), schema["maximum"].get<double>());
  return low + " and" + high;
}

void check_bounds(const std::string& key, const Json& schema, double value, const std::string& what) {
  const auto at = [&schema](const char* bound, double otherwise) {
    return schema.contains(bound) ? schema[bound].get<double>() : otherwise;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value >= at("minimum", -kInfinity) && value <= at("maximum", kInfinity) &&
      value > at("exclusiveMinimum", -kInfinity) && value < at("exclusiveMaximum", kInfinity))
    return;
  reject(key, "is out of range", fmt::format("Give {}{}", what, bounds_text(schema)));
}

double read_number(const std::string& key, const Json& schema, const Json& json) {
  if (!json.is_number()) reject(key, "is not a number", "Give a number" + bounds_text(schema));
  const double value = json.get<double>();
  check_bounds(key, schema, value, "a number");
  return value;
}

double read_quantity(const std::string& key, const Json& schema, Dimension dimension, const Json& json) {
  double value = 0;
  if (json.is_number()) {
    value = json.get<double>();
  } else {
    const ParsedQuantity parsed = json.is_string() ? parse_quantity(json.get<std::string>(), dimension)
                                                   : ParsedQuantity{false, 0, "is not a quantity"};
    if (!parsed.ok) reject(key, parsed.problem, fmt::format("Write {}", dimension_example(dimension)));
    value = parsed.value;
  }
  check_bounds(key, schema, value, fmt::format("a {}", dimension_name(dimension)));
  return value;
}

double read_amount(const std::string& key, const Json& schema, DrawUnit unit, const Json& json) {
  if (unit == DrawUnit::seconds) return read_quantity(key, schema, Dimension::time_s, json);
  if (unit == DrawUnit::factor && !json.is_number())
    reject(key, "is not a plain number", "Give a factor without a unit, such as 1.5");
  if (!json.is_number()) (void)Amount{0, true}.in(unit, key);
  return read_number(key, schema, json);
}

void below(const std::string& key, const std::function<void()>& read) {
  try {
    read();
  } catch (const ParameterError& error) {
    throw ParameterError("/" + key + error.key, error.problem, error.remedy);
  }
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

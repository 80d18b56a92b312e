#include "sim/base/field.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"

namespace simsgd {

using fields::put;

namespace {

/// A field that is only read has no description, and needs none.
void describe(Json& schema, const char* key, std::string_view words) {
  if (schema.contains("description")) schema[key] = words;
}

}  // namespace

RawValue::RawValue(const Json& value) : value_(std::make_shared<const Json>(value)) {}

const Json& RawValue::json() const {
  static const Json kNull;
  return value_ == nullptr ? kNull : *value_;
}

std::string RawValue::name() const {
  return json().is_object() ? json().value("name", std::string()) : std::string();
}

double Amount::in(DrawUnit unit, const std::string& key) const {
  if (has_unit && unit == DrawUnit::relative)
    reject(key, "is not a plain number, but \"relative\" asks for multiples of the compute time",
           "Give a number without a unit, such as 0.5, or leave \"relative\" out");
  return value;
}

Field::~Field() = default;

Field& Field::required() {
  required_ = true;
  schema().erase("default");
  return *this;
}
Field& Field::at_least(double bound) {
  schema().erase("exclusiveMinimum");
  put(schema()["minimum"], bound);
  return *this;
}
Field& Field::above(double bound) {
  schema().erase("minimum");
  put(schema()["exclusiveMinimum"], bound);
  return *this;
}
Field& Field::at_most(double bound) {
  put(schema()["maximum"], bound);
  return *this;
}
Field& Field::below(double bound) {
  put(schema()["exclusiveMaximum"], bound);
  return *this;
}
Field& Field::items_at_least(double bound) {
  put(schema()["items"]["minimum"], bound);
  return *this;
}
Field& Field::items_above(double bound) {
  schema()["items"].erase("minimum");
  put(schema()["items"]["exclusiveMinimum"], bound);
  return *this;
}
Field& Field::items_at_most(double bound) {
  put(schema()["items"]["maximum"], bound);
  return *this;
}
Field& Field::least_items(int count) {
  schema()["minItems"] = count;
  return *this;
}
Field& Field::distinct() {
  schema()["uniqueItems"] = true;
  return *this;
}
Field& Field::least_characters(int count) {
  schema()["minLength"] = count;
  return *this;
}
Field& Field::most_characters(int count) {
  schema()["maxLength"] = count;
  return *this;
}
Field& Field::by_rule(std::string_view rule) {
  describe(schema(), "x-default", rule);
  return *this;
}
Field& Field::example(std::string_view json) {
  if (schema().contains("description")) schema()["examples"] = Json::array({Json::parse(json)});
  return *this;
}
Field& Field::source(std::string_view source) {
  describe(schema(), "x-source", source);
  return *this;
}
Field& Field::remedy(std::string_view remedy) {
  describe(schema(), "x-remedy", remedy);
  return *this;
}

}  // namespace simsgd

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

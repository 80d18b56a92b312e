#include "sim/base/field.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"

namespace simsgd {

using fields::put;

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

Field& Field::describe(const char* key, std::string_view words) {
  if (schema_) (*schema_)[key] = words;
  return *this;
}
Field& Field::describe(const char* key, const Json& value) {
  if (schema_) (*schema_)[key] = value;
  return *this;
}

Field& Field::required() {
  required_ = true;
  if (schema_) schema_->erase("default");
  return *this;
}
Field& Field::at_least(double bound) {
  range_.at_least = bound;
  range_.above = -std::numeric_limits<double>::infinity();
  return *this;
}
Field& Field::above(double bound) {
  range_.above = bound;
  range_.at_least = -std::numeric_limits<double>::infinity();
  return *this;
}
Field& Field::at_most(double bound) {
  range_.at_most = bound;
  return *this;
}
Field& Field::below(double bound) {
  range_.below = bound;
  return *this;
}
Field& Field::items_at_least(double bound) {
  items_.at_least = bound;
  return *this;
}
Field& Field::items_above(double bound) {
  items_.above = bound;
  items_.at_least = -std::numeric_limits<double>::infinity();
  return *this;
}
Field& Field::items_at_most(double bound) {
  items_.at_most = bound;
  return *this;
}
Field& Field::least_items(int count) {
  least_items_ = static_cast<std::size_t>(count);
  return describe("minItems", Json(count));
}
Field& Field::distinct() { return describe("uniqueItems", Json(true)); }
Field& Field::least_characters(int count) { return describe("minLength", Json(count)); }
Field& Field::most_characters(int count) { return describe("maxLength", Json(count)); }
Field& Field::by_rule(std::string_view rule) { return describe("x-default", rule); }
Field& Field::example(std::string_view json) {
  return schema_ ? describe("examples", Json::array({Json::parse(json)})) : *this;
}
Field& Field::source(std::string_view source) { return describe("x-source", source); }
Field& Field::remedy(std::string_view remedy) { return describe("x-remedy", remedy); }

Json Field::described() const {
  Json schema = *schema_;
  const auto say = [](const NumberRange& range, Json& json) {
    const std::pair<const char*, double> bounds[] = {{"minimum", range.at_least},
                                                     {"exclusiveMinimum", range.above},
                                                     {"maximum", range.at_most},
                                                     {"exclusiveMaximum", range.below}};
    for (const auto& [key, bound] : bounds)
      if (std::isfinite(bound)) put(json[key], bound);
  };
  say(range_, schema);
  if (const auto items = schema.find("items"); items != schema.end()) say(items_, *items);
  return schema;
}

}  // namespace simsgd

namespace simsgd::fields {

std::string bounds_text(const NumberRange& range) {
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

void check_bounds(const std::string& key, const NumberRange& range, double value, const std::string& what) {
  if (!range.admits(value))
    reject(key, "is out of range", fmt::format("Give {}{}", what, bounds_text(range)));
}

double read_number(const std::string& key, const NumberRange& range, const Json& json) {
  if (!json.is_number()) reject(key, "is not a number", "Give a number" + bounds_text(range));
  const double value = json.get<double>();
  check_bounds(key, range, value, "a number");
  return value;
}

double read_quantity(const std::string& key, const NumberRange& range, Dimension dimension,
                     const Json& json) {
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

double read_amount(const std::string& key, const NumberRange& range, DrawUnit unit, const Json& json) {
  if (unit == DrawUnit::seconds) return read_quantity(key, range, Dimension::time_s, json);
  if (unit == DrawUnit::factor && !json.is_number())
    reject(key, "is not a plain number", "Give a factor without a unit, such as 1.5");
  if (!json.is_number()) (void)Amount{0, true}.in(unit, key);
  return read_number(key, range, json);
}

bool put(Json& json, double value) {
  if (!std::isfinite(value)) return false;
  if (std::trunc(value) == value && std::fabs(value) <= 0x1p53)
    json = static_cast<std::int64_t>(value);
  else
    json = value;
  return true;
}

}  // namespace simsgd::fields

#include "sim/base/field.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/field_reading.hpp"

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
  return describe("minItems", count);
}
Field& Field::distinct() { return describe("uniqueItems", true); }
Field& Field::least_characters(int count) { return describe("minLength", count); }
Field& Field::most_characters(int count) { return describe("maxLength", count); }
Field& Field::by_rule(std::string_view rule) { return describe("x-default", rule); }
Field& Field::example(std::string_view json) {
  return schema_ ? describe("examples", Json::array({Json::parse(json)})) : *this;
}
Field& Field::source(std::string_view source) { return describe("x-source", source); }
Field& Field::remedy(std::string_view remedy) { return describe("x-remedy", remedy); }

Json Field::described() const {
  Json schema = *schema_;
  const auto say = [](const Range& range, Json& json) {
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

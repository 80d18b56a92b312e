#include "sim/base/field.hpp"

#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/field_reading.hpp"

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

#include "sim/base/field.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace simsgd {

RawValue::RawValue(const Json& value) : value_(std::make_shared<const Json>(value)) {}

const Json& RawValue::json() const {
  static const Json kNull;
  return value_ == nullptr ? kNull : *value_;
}

std::string RawValue::name() const {
  return json().is_object() ? json().value("name", std::string()) : std::string();
}

double Amount::in(DrawUnit unit, const std::string& key) const {
  if (has_unit && unit == DrawUnit::relative) reject(key, fields::kNotPlain, fields::kWritePlain);
  return value;
}

Field& Field::note(const char* keyword, Words words) {
  notes_.emplace_back(keyword, std::move(words));
  return *this;
}

Field& Field::required() {
  required_ = true;
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
  return note("minItems", std::to_string(count));
}

Json Field::described() const {
  Json schema = schema_();
  if (const std::string meaning = meaning_.text(); !meaning.empty()) schema["description"] = meaning;
  if (Json otherwise; !is_object_ && write_(otherwise)) schema["default"] = std::move(otherwise);
  if (required_) schema.erase("default");
  for (const auto& [keyword, words] : notes_) {
    Json said = keyword[0] == 'x' ? Json(words.text()) : Json::parse(words.text());
    schema[keyword] =
        keyword == std::string_view("examples") ? Json::array({std::move(said)}) : std::move(said);
  }
  const auto say = [](const NumberRange& range, Json& json) {
    const std::pair<const char*, double> bounds[] = {{"minimum", range.at_least},
                                                     {"exclusiveMinimum", range.above},
                                                     {"maximum", range.at_most},
                                                     {"exclusiveMaximum", range.below}};
    for (const auto& [key, bound] : bounds)
      if (std::isfinite(bound)) fields::put(json[key], bound);
  };
  say(range_, schema);
  if (const auto items = schema.find("items"); items != schema.end()) say(items_, *items);
  return schema;
}

}  // namespace simsgd

bool simsgd::fields::put(Json& json, double value) {
  if (!std::isfinite(value)) return false;
  if (std::trunc(value) == value && std::fabs(value) <= 0x1p53)
    json = static_cast<std::int64_t>(value);
  else
    json = value;
  return true;
}

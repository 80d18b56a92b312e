#include "scenarios/language/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/provenance.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

/// Bounds that only keep a number inside its type are not worth a word until they are passed.
constexpr double kTypeBound = 2147483647;

std::string range(const Json& schema) {
  const bool low = schema.contains("minimum");
  const bool high = schema.contains("maximum") && schema["maximum"] < kTypeBound;
  if (low && high)
    return fmt::format(" from {} to {}", schema["minimum"].get<double>(), schema["maximum"].get<double>());
  std::string text;
  if (low) text += fmt::format(" of at least {}", schema["minimum"].get<double>());
  if (schema.contains("exclusiveMinimum"))
    text += fmt::format(" above {}", schema["exclusiveMinimum"].get<double>());
  const char* const joint = text.empty() ? "" : " and";
  if (high) text += fmt::format("{} of at most {}", joint, schema["maximum"].get<double>());
  if (schema.contains("exclusiveMaximum"))
    text += fmt::format("{} below {}", joint, schema["exclusiveMaximum"].get<double>());
  return text;
}

std::string type_in_words(const std::string& type, const Json& schema) {
  if (type == "integer") return "a whole number" + range(schema);
  if (type == "number") return "a number" + range(schema);
  if (type == "string") return "text";
  if (type == "boolean") return "true or false";
  if (type == "array") return "a list";
  if (type == "object") return "an object";
  return type;
}

std::string quoted_or_plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> valid_values(const Json& schema) {
  std::vector<std::string> all;
  for (const Json& value : schema.value("enum", Json::array())) all.push_back(quoted_or_plain(value));
  if (schema.contains("const")) all.push_back(quoted_or_plain(schema["const"]));
  return all;
}

bool is_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "null") return value.is_null();
  return type == value.type_name();
}

bool has_wrong_type(const Json& schema, const Json& value) {
  if (!schema.contains("type")) return false;
  if (schema["type"].is_string()) return !is_type(value, schema["type"].get<std::string>());
  return std::none_of(schema["type"].begin(), schema["type"].end(),
                      [&value](const Json& type) { return is_type(value, type.get<std::string>()); });
}

std::string suggestion(const std::string& found, const std::vector<std::string>& valid) {
  const std::string guess = nearest(found, valid);
  return guess.empty() ? "" : fmt::format("Did you mean \"{}\"? ", guess);
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

Explanation wrong_type(const Json& schema, const Json& written) {
  Dimension dimension{};
  const std::string example = "Write " + wanted(schema);
  if (!schema.contains("x-quantity") || !written.is_string() ||
      !dimension_from_name(schema["x-quantity"].get<std::string>(), dimension))
    return {"", "has the wrong type", example};
  return {"", parse_quantity(written.get<std::string>(), dimension).problem, example};
}

void explain_value(const Json& schema, const Json& written, std::vector<Explanation>& all) {
  const Json values = schema.value("enum", Json::array());
  const bool in_values = values.empty() || std::find(values.begin(), values.end(), written) != values.end();
  const bool is_const = !schema.contains("const") || schema["const"] == written;
  if (in_values && is_const) return;
  const std::vector<std::string> valid = valid_values(schema);
  all.push_back({"", "is not valid here",
                 suggestion(quoted_or_plain(written), valid) +
                     (valid.size() == 1 ? "Valid is " : "Valid are ") + one_of(valid)});
}

std::string wanted_number(const Json& schema, double found) {
  const double most = schema.value("maximum", found);
  if (found > most && most >= kTypeBound) return fmt::format("at most {}", most);
  if (!schema.contains("x-quantity")) return wanted(schema);
  return fmt::format("a number{}, such as {}", range(schema), wanted(schema));
}

void explain_number(const Json& schema, const Json& si, std::vector<Explanation>& all) {
  const double value = si.get<double>();
  const auto bound = [&schema](const char* key, double otherwise) {
    return schema.contains(key) ? schema[key].get<double>() : otherwise;
  };
  if (value < bound("minimum", value) || value > bound("maximum", value) ||
      (schema.contains("exclusiveMinimum") && value <= bound("exclusiveMinimum", 0)) ||
      (schema.contains("exclusiveMaximum") && value >= bound("exclusiveMaximum", 0)))
    all.push_back({"", "is out of range",
                   "Write " + wanted_number(schema, value) +
                       (schema.contains("x-remedy") ? ", " + schema["x-remedy"].get<std::string>() : "")});
}

void explain_list(const Json& schema, const Json& list, std::vector<Explanation>& all) {
  const std::size_t least = schema.value("minItems", std::size_t{0});
  if (list.size() < least)
    all.push_back(
        {"", "is too short", fmt::format("Give at least {} element{}", least, least == 1 ? "" : "s")});
  if (schema.contains("maxItems") && list.size() > schema["maxItems"].get<std::size_t>())
    all.push_back(
        {"", "is too long", fmt::format("Give at most {} elements", schema["maxItems"].get<std::size_t>())});
  if (schema.value("uniqueItems", false))
    for (std::size_t i = 0; i < list.size(); ++i)
      if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
          list.begin() + static_cast<std::ptrdiff_t>(i))
        all.push_back({child("", i), "is in the list already", "Name each element once"});
}

void explain_object(const Json& schema, const Json& object, std::vector<Explanation>& all) {
  const Json properties = schema.value("properties", Json::object());
  std::vector<std::string> keys;
  for (const auto& property : properties.items()) keys.push_back(property.key());
  const std::string owner = schema.contains("title") ? " of " + schema["title"].get<std::string>() : " here";
  const bool strict = schema.value("additionalProperties", Json(true)) == Json(false);
  for (const auto& member : object.items()) {
    if (!strict || properties.contains(member.key())) continue;
    all.push_back({child("", member.key()), "is an unknown key",
                   suggestion(member.key(), keys) + "Valid keys" + owner + ": " + joined(keys)});
  }
  for (const Json& key : schema.value("required", Json::array())) {
    if (object.contains(key.get<std::string>())) continue;
    const Json property = properties.value(key.get<std::string>(), Json::object());
    const std::string meaning = property.value("description", "");
    all.push_back({"", fmt::format("lacks the key {}", key.dump()),
                   fmt::format("Add {}{}{}", key.dump(), meaning.empty() ? "" : ": ", meaning), true});
  }
  if (object.size() < schema.value("minProperties", std::size_t{0}))
    all.push_back({"", "is empty", "Give " + one_of(keys), true});
}

}  // namespace

std::string wanted(const Json& schema) {
  if (schema.contains("x-forms")) {
    std::vector<std::string> forms;
    for (const Json& form : schema["x-forms"]) forms.push_back(wanted(form));
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    return one_of(forms);
  }
  const std::vector<std::string> values = valid_values(schema);
  if (!values.empty()) return one_of(values);
  Dimension dimension{};
  if (schema.contains("x-quantity") &&
      dimension_from_name(schema["x-quantity"].get<std::string>(), dimension)) {
    return std::string(dimension_example(dimension));
  }
  std::vector<std::string> types;
  const Json type = schema.value("type", Json("object"));
  for (const Json& each : type.is_array() ? type : Json::array({type}))
    types.push_back(type_in_words(each.get<std::string>(), schema));
  return one_of(types);
}

std::vector<Explanation> explain(const Json& schema, const Json& written, const Json& si) {
  if (has_wrong_type(schema, si)) return {wrong_type(schema, written)};
  std::vector<Explanation> all;
  explain_value(schema, written, all);
  if (!all.empty()) return all;
  if (si.is_number()) explain_number(schema, si, all);
  if (si.is_array()) explain_list(schema, si, all);
  if (si.is_object()) explain_object(schema, written, all);
  return all;
}

}  // namespace simsgd

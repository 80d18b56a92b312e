#include "scenarios/language/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/forms.hpp"
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
  const auto type = schema.find("type");
  if (type == schema.end()) return false;
  if (type->is_string()) return !is_type(value, type->get_ref<const std::string&>());
  return std::none_of(type->begin(), type->end(), [&value](const Json& each) {
    return is_type(value, each.get_ref<const std::string&>());
  });
}

std::string characters(std::size_t count) {
  return fmt::format("{} character{}", count, count == 1 ? "" : "s");
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
  const auto values = schema.find("enum"), only = schema.find("const");
  const bool in_values =
      values == schema.end() || std::find(values->begin(), values->end(), written) != values->end();
  if (in_values && (only == schema.end() || *only == written)) return;
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

void explain_number(const Json& schema, double value, std::vector<Explanation>& all) {
  const auto bound = [&schema](const char* key, double otherwise) {
    const auto found = schema.find(key);
    return found == schema.end() ? otherwise : found->get<double>();
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value < bound("minimum", value) || value > bound("maximum", value) ||
      value <= bound("exclusiveMinimum", -kInfinity) || value >= bound("exclusiveMaximum", kInfinity))
    all.push_back({"", "is out of range",
                   "Write " + wanted_number(schema, value) +
                       (schema.contains("x-remedy") ? ", " + schema["x-remedy"].get<std::string>() : "")});
}

void explain_text(const Json& schema, const std::string& text, std::vector<Explanation>& all) {
  const std::size_t least = schema.value("minLength", std::size_t{0});
  const std::size_t most = schema.value("maxLength", text.size());
  if (text.size() < least)
    all.push_back({"", "is too short", fmt::format("Write at least {}", characters(least))});
  if (text.size() > most)
    all.push_back({"", "is too long", fmt::format("Write at most {}", characters(most))});
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
  static const Json kNone = Json::object();
  const auto found = schema.find("properties");
  const Json& properties = found == schema.end() ? kNone : *found;
  const auto keys = [&properties] {
    std::vector<std::string> names;
    for (const auto& property : properties.items()) names.push_back(property.key());
    return names;
  };
  const auto others = schema.find("additionalProperties");
  const bool strict = others != schema.end() && *others == false;
  for (const auto& member : object.items()) {
    if (!strict || properties.contains(member.key())) continue;
    const std::string owner =
        schema.contains("title") ? " of " + schema["title"].get<std::string>() : " here";
    all.push_back({child("", member.key()), "is an unknown key",
                   suggestion(member.key(), keys()) + "Valid keys" + owner + ": " + joined(keys())});
  }
  const auto required = schema.find("required");
  for (const Json& key : required == schema.end() ? kNone : *required) {
    if (object.contains(key.get<std::string>())) continue;
    const Json* property = value_at(properties, child("", key.get<std::string>()));
    const std::string meaning = property == nullptr ? "" : property->value("description", "");
    all.push_back({"", fmt::format("lacks the key {}", key.dump()),
                   fmt::format("Add {}{}{}", key.dump(), meaning.empty() ? "" : ": ", meaning), true});
  }
  if (object.size() < schema.value("minProperties", std::size_t{0}))
    all.push_back({"", "is empty", "Give " + one_of(keys()), true});
}

/// What the schema's own keywords say of a value, without those of its members.
std::vector<Explanation> explain_itself(const Json& form, const Json& value) {
  const std::optional<double> number = number_of(form, value);
  if (form.contains("x-quantity") ? !number : has_wrong_type(form, value)) return {wrong_type(form, value)};
  std::vector<Explanation> all;
  explain_value(form, value, all);
  if (!all.empty()) return all;
  if (number)
    explain_number(form, *number, all);
  else if (value.is_string())
    explain_text(form, value.get_ref<const std::string&>(), all);
  else if (value.is_array())
    explain_list(form, value, all);
  else if (value.is_object())
    explain_object(form, value, all);
  return all;
}

void explain_all(const Json& schema, const Json& value, std::vector<Explanation>& all) {
  Json made;
  const Json& form = form_of(schema, value, made);
  const auto explain_part = [&all](const Json& of_part, const Json& part, const auto& key) {
    std::size_t fresh = all.size();
    explain_all(of_part, part, all);
    for (; fresh < all.size(); ++fresh) all[fresh].pointer.insert(0, child("", key));
  };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      if (const Json* of_member = part_schema(form, key)) explain_part(*of_member, member, key);
  } else if (const Json* items = element_schema(form); value.is_array() && items != nullptr) {
    for (std::size_t i = 0; i < value.size(); ++i) explain_part(*items, value[i], i);
  }
  for (Explanation& each : explain_itself(form, value)) all.push_back(std::move(each));
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

std::vector<Explanation> explain(const Json& schema, const Json& value) {
  std::vector<Explanation> all;
  explain_all(schema, value, all);
  return all;
}

void validate(const Json& schema, const Json& value, const Provenance& origins,
              const std::set<std::string>& incomplete, ErrorList& errors) {
  for (const Explanation& each : explain(schema, value)) {
    if (!each.about_missing_key) {
      errors.add(value, origins, each.pointer, each.problem, each.remedy);
    } else if (!incomplete.contains(each.pointer)) {
      const Origin origin = origins.at(each.pointer);
      errors.add(each.pointer, {origin.file, origin.pointer, each.problem, "", each.remedy});
    }
  }
}

}  // namespace simsgd

#include "sim/base/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/pointers.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

const Json* name_of_form(const Json& form) {
  const auto properties = form.find("properties");
  if (properties == form.end() || !properties->contains("name")) return nullptr;
  const auto name = (*properties)["name"].find("const");
  return name == (*properties)["name"].end() ? nullptr : &*name;
}

namespace {

std::optional<Dimension> quantity_of(const Json& schema) {
  Dimension dimension{};
  const auto quantity = schema.find("x-quantity");
  if (quantity == schema.end() || !dimension_from_name(quantity->get_ref<const std::string&>(), dimension))
    return std::nullopt;
  return dimension;
}

/// The types that a schema names; none where it does not say.
void add_types(const Json& schema, std::set<std::string>& types) {
  if (const auto type = schema.find("type"); type != schema.end()) {
    for (const Json& each : *type) types.insert(each.get<std::string>());  // of a text: itself
    return;
  }
  for (const char* keyword : {"oneOf", "anyOf"})
    if (const auto forms = schema.find(keyword); forms != schema.end())
      for (const Json& form : *forms) add_types(form, types);
  if (const auto values = schema.find("enum"); values != schema.end())
    for (const Json& value : *values) types.insert(value.type_name());
  if (const auto only = schema.find("const"); only != schema.end()) types.insert(only->type_name());
}

bool admits_type(const Json& schema, const Json& value) {
  std::set<std::string> types;
  add_types(schema, types);
  return types.empty() || types.contains(value.type_name()) ||
         (value.is_number() && types.contains("integer"));
}

/// The schema of an object whose "name" is none of those that the forms have.
Json any_name(const std::vector<const Json*>& forms) {
  std::vector<std::string> names;
  for (const Json* form : forms) names.push_back(name_of_form(*form)->get<std::string>());
  return {{"type", "object"},
          {"required", {"name"}},
          {"properties", {{"name", {{"enum", names}, {"description", one_of(names)}}}}}};
}

/// How many keys of `object` the form knows; a form whose required keys are there wins over others.
std::size_t likeness(const Json& form, const Json& object) {
  std::size_t known = 0;
  for (const auto& member : object.items())
    known += form.contains("properties") && form["properties"].contains(member.key()) ? 1U : 0U;
  const auto required = form.find("required");
  const bool complete =
      required == form.end() || std::all_of(required->begin(), required->end(),
                                            [&object](const Json& key) { return object.contains(key); });
  return 2 * known + (complete ? 1 : 0);
}

std::vector<const Json*> fitting(const Json& forms, const Json& value) {
  std::vector<const Json*> all;
  for (const Json& form : forms)
    if (admits_type(form, value)) all.push_back(&form);
  return all;
}

/// The form that the value is meant to have; null where there is none of its type or name.
const Json* choose_form(const Json& forms, const Json& value) {
  if (const auto name = value.is_object() ? value.find("name") : value.end(); name != value.end())
    for (const Json& form : forms)
      if (const Json* of_form = name_of_form(form); of_form != nullptr && *of_form == *name) return &form;
  const std::vector<const Json*> all = fitting(forms, value);
  if (all.empty()) return nullptr;
  if (!value.is_object()) return all.front();
  if (std::all_of(all.begin(), all.end(), [](const Json* form) { return name_of_form(*form); }))
    return nullptr;
  return *std::max_element(all.begin(), all.end(), [&value](const Json* a, const Json* b) {
    return likeness(*a, value) < likeness(*b, value);
  });
}

/// A schema that a value without a form does not meet.
Json no_form(const Json& forms, const Json& value) {
  const std::vector<const Json*> all = fitting(forms, value);
  if (!all.empty()) return any_name(all);
  std::set<std::string> types;
  for (const Json& form : forms) add_types(form, types);
  return {{"type", types}, {"x-forms", forms}};
}

/// The form that the value is meant to have: a part of `schema` without alternatives. Where none fits,
/// `made`, a schema that the value does not meet, with the forms in "x-forms".
const Json& form_of(const Json& schema, const Json& value, Json& made) {
  const Json* node = &schema;
  for (const char* keyword : {"oneOf", "anyOf"}) {
    for (auto forms = node->find(keyword); forms != node->end(); forms = node->find(keyword)) {
      const Json* form = choose_form(*forms, value);
      if (form == nullptr) return made = no_form(*forms, value);
      node = form;
    }
  }
  return *node;
}

/// The number that `value` is or, where the schema wants a quantity, stands for as text.
std::optional<double> number_of(const Json& schema, const Json& value) {
  if (value.is_number()) return value.get<double>();
  const std::optional<Dimension> dimension = quantity_of(schema);
  if (!dimension || !value.is_string()) return std::nullopt;
  const ParsedQuantity parsed = parse_quantity(value.get_ref<const std::string&>(), *dimension);
  return parsed.ok ? std::optional(parsed.value) : std::nullopt;
}

}  // namespace

const Json* part_schema(const Json& form, const std::string& key) {
  const auto properties = form.find("properties");
  if (properties != form.end())
    if (const auto property = properties->find(key); property != properties->end()) return &*property;
  const auto others = form.find("additionalProperties");
  return others != form.end() && others->is_object() ? &*others : nullptr;
}

const Json* element_schema(const Json& form) {
  const auto items = form.find("items");
  return items == form.end() ? nullptr : &*items;
}

const Json* schema_at(const Json& schema, const Json& value, const std::vector<std::string>& path) {
  const Json* found = &schema;
  const Json* here = &value;
  for (const std::string& token : path) {
    if (found == nullptr || here == nullptr) return nullptr;
    Json made;
    const Json& form = form_of(*found, *here, made);
    if (&form == &made) return nullptr;
    found = here->is_array() ? element_schema(form) : part_schema(form, token);
    here = value_at(*here, child("", token));
  }
  return found;
}

Json in_si(const Json& schema, Json value) {
  Json made;
  const Json& form = form_of(schema, value, made);
  if (value.is_string()) {
    const std::optional<double> number = number_of(form, value);
    return number ? Json(*number) : value;
  }
  if (!value.is_structured()) return value;
  for (auto& [key, part] : value.items())
    if (const Json* of_part = value.is_array() ? element_schema(form) : part_schema(form, key))
      part = in_si(*of_part, std::move(part));
  return value;
}

namespace {

/// Bounds that only keep a number inside its type are not worth a word until they are passed.
constexpr double kTypeBound = 2147483647;

/// " from 1 to 8", " of at least 0".
std::string bounds_in_words(const Json& schema) {
  const NumberRange range = range_of(schema);
  const auto bound = [](double value, const char* words) {
    return std::isfinite(value) ? fmt::format("{} {}", words, value) : "";
  };
  const std::string low = bound(range.at_least, " of at least") + bound(range.above, " above");
  const bool capped = range.at_most < kTypeBound;
  const std::string high = (capped ? bound(range.at_most, " of at most") : "") + bound(range.below, " below");
  if (low.empty() || high.empty()) return low + high;
  if (std::isfinite(range.at_least) && capped)
    return fmt::format(" from {} to {}", range.at_least, range.at_most);
  return low + " and" + high;
}

std::string type_in_words(const std::string& type, const Json& schema) {
  if (type == "integer") return "a whole number" + bounds_in_words(schema);
  if (type == "number") return "a number" + bounds_in_words(schema);
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

bool has_wrong_type(const Json& schema, const Json& value) {
  const auto type = schema.find("type");
  return type != schema.end() && std::none_of(type->begin(), type->end(), [&value](const Json& each) {
           return each == "integer" ? value.is_number_integer() : each == value.type_name();
         });
}

Explanation wrong_type(const Json& schema, const Json& written) {
  const std::optional<Dimension> dimension = quantity_of(schema);
  return {"",
          dimension && written.is_string()
              ? parse_quantity(written.get_ref<const std::string&>(), *dimension).problem
              : schema.value("x-problem", "has the wrong type"),
          schema.value("x-write", "Write " + wanted(schema))};
}

void explain_value(const Json& schema, const Json& written, std::vector<Explanation>& all) {
  const auto values = schema.find("enum"), only = schema.find("const");
  const bool in_values =
      values == schema.end() || std::find(values->begin(), values->end(), written) != values->end();
  if (in_values && (only == schema.end() || *only == written)) return;
  const std::vector<std::string> valid = valid_values(schema);
  all.push_back(
      {"", "is not valid here", suggestion(quoted_or_plain(written), valid) + "Choose " + one_of(valid)});
}

std::string wanted_number(const Json& schema, double found) {
  const double most = schema.value("maximum", found);
  if (found > most && most >= kTypeBound) return fmt::format("at most {}", most);
  if (!schema.contains("x-quantity")) return wanted(schema);
  return fmt::format("a number{}, such as {}", bounds_in_words(schema), wanted(schema));
}

void explain_number(const Json& schema, double value, std::vector<Explanation>& all) {
  if (!range_of(schema).admits(value))
    all.push_back({"", "is out of range",
                   "Write " + wanted_number(schema, value) +
                       (schema.contains("x-remedy") ? ", " + schema["x-remedy"].get<std::string>() : "")});
}

/// `kind`: as in the keys minLength and maxItems.
void explain_size(const Json& schema, const std::string& kind, std::size_t size, const char* verb,
                  const char* part, std::vector<Explanation>& all) {
  const auto bound = [&](const char* which, std::size_t count) {
    return fmt::format("{} at {} {} {}{}", verb, which, count, part, count == 1 ? "" : "s");
  };
  const std::size_t least = schema.value("min" + kind, size), most = schema.value("max" + kind, size);
  if (size < least) all.push_back({"", "is too short", bound("least", least)});
  if (size > most) all.push_back({"", "is too long", bound("most", most)});
}

void explain_list(const Json& schema, const Json& list, std::vector<Explanation>& all) {
  explain_size(schema, "Items", list.size(), "Give", "element", all);
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
                   fmt::format("{}Valid keys{}: {}", suggestion(member.key(), keys()), owner,
                               fmt::join(keys(), ", "))});
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

void add_defaults(const Json& form, Json& object) {
  const auto properties = form.find("properties");
  if (properties == form.end()) return;
  for (const auto& [key, property] : properties->items())
    if (const auto otherwise = property.find("default"); otherwise != property.end() && !object.contains(key))
      object.emplace(key, *otherwise);
}

/// Writes 8.0 as 8 where a whole number is wanted.
void make_whole(const Json& form, Json& value) {
  const auto type = form.find("type");
  if (!value.is_number_float() || type == form.end() || *type != "integer") return;
  const double number = value.get<double>();
  if (std::trunc(number) == number && std::fabs(number) < 0x1p53) value = static_cast<std::int64_t>(number);
}

}  // namespace

std::vector<Explanation> explain_itself(const Json& form, const Json& value) {
  const std::optional<double> number = number_of(form, value);
  if (form.contains("x-quantity") ? !number : has_wrong_type(form, value)) return {wrong_type(form, value)};
  std::vector<Explanation> all;
  explain_value(form, value, all);
  if (!all.empty()) return all;
  if (number)
    explain_number(form, *number, all);
  else if (value.is_string())
    explain_size(form, "Length", value.get_ref<const std::string&>().size(), "Write", "character", all);
  else if (value.is_array())
    explain_list(form, value, all);
  else if (value.is_object())
    explain_object(form, value, all);
  return all;
}

std::vector<Explanation> complete(const Json& schema, Json& value) {
  Json made;
  const Json& form = form_of(schema, value, made);
  std::vector<Explanation> all;
  const auto enter = [&all](const Json& of_part, Json& part, const auto& key) {
    for (Explanation& each : complete(of_part, part)) {
      each.pointer.insert(0, child("", key));
      all.push_back(std::move(each));
    }
  };
  if (value.is_object()) {
    add_defaults(form, value);
    for (auto member = value.begin(); member != value.end(); ++member)
      if (const Json* of_member = part_schema(form, member.key())) enter(*of_member, *member, member.key());
  } else if (const Json* items = element_schema(form); value.is_array() && items != nullptr) {
    for (std::size_t i = 0; i < value.size(); ++i) enter(*items, value[i], i);
  } else {
    make_whole(form, value);
  }
  for (Explanation& each : explain_itself(form, value)) all.push_back(std::move(each));
  return all;
}

Json with_defaults(const Json& schema, Json value) {
  complete(schema, value);
  return value;
}

NumberRange range_of(const Json& schema) {
  NumberRange range;
  range.at_least = schema.value("minimum", range.at_least);
  range.above = schema.value("exclusiveMinimum", range.above);
  range.at_most = schema.value("maximum", range.at_most);
  range.below = schema.value("exclusiveMaximum", range.below);
  return range;
}

std::string wanted(const Json& schema) {
  if (schema.contains("x-forms")) {
    std::vector<std::string> forms;
    for (const Json& form : schema["x-forms"]) forms.push_back(wanted(form));
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    return one_of(forms);
  }
  const std::vector<std::string> values = valid_values(schema);
  if (!values.empty()) return one_of(values);
  if (const auto dimension = quantity_of(schema)) return std::string(dimension_example(*dimension));
  std::vector<std::string> types;
  const Json type = schema.value("type", Json("object"));
  for (const Json& each : type) types.push_back(type_in_words(each.get<std::string>(), schema));
  return one_of(types);
}

}  // namespace simsgd

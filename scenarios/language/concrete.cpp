#include "scenarios/language/concrete.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

/// The types that a schema admits; empty where it does not say.
std::vector<std::string> types_of(const Json& schema) {
  if (schema.contains("type")) {
    if (schema["type"].is_array()) return schema["type"].get<std::vector<std::string>>();
    return {schema["type"].get<std::string>()};
  }
  std::vector<std::string> types;
  for (const char* keyword : {"oneOf", "anyOf"})
    for (const Json& form : schema.value(keyword, Json::array()))
      for (std::string& type : types_of(form)) types.push_back(std::move(type));
  Json values = schema.value("enum", Json::array());
  if (schema.contains("const")) values.push_back(schema["const"]);
  for (const Json& value : values) types.emplace_back(value.type_name());
  return types;
}

bool admits_type(const Json& schema, const Json& value) {
  const std::vector<std::string> types = types_of(schema);
  return types.empty() || std::any_of(types.begin(), types.end(), [&value](const std::string& type) {
           return type == value.type_name() || (type == "integer" && value.is_number());
         });
}

const Json* name_of_form(const Json& form) {
  const auto properties = form.find("properties");
  if (properties == form.end() || !properties->contains("name")) return nullptr;
  const auto name = (*properties)["name"].find("const");
  return name == (*properties)["name"].end() ? nullptr : &*name;
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
  const Json required = form.value("required", Json::array());
  const bool complete = std::all_of(required.begin(), required.end(),
                                    [&object](const Json& key) { return object.contains(key); });
  return 2 * known + (complete ? 1 : 0);
}

std::vector<const Json*> fitting(const Json& forms, const Json& value) {
  std::vector<const Json*> all;
  for (const Json& form : forms)
    if (admits_type(form, value)) all.push_back(&form);
  return all;
}

bool all_named(const std::vector<const Json*>& forms) {
  return std::all_of(forms.begin(), forms.end(), [](const Json* form) { return name_of_form(*form); });
}

/// The form that the value is meant to have; null where there is none of its type or name.
const Json* choose_form(const Json& forms, const Json& value) {
  const std::vector<const Json*> all = fitting(forms, value);
  if (all.empty()) return nullptr;
  if (!value.is_object()) return all.front();
  if (!all_named(all))
    return *std::max_element(all.begin(), all.end(), [&value](const Json* a, const Json* b) {
      return likeness(*a, value) < likeness(*b, value);
    });
  for (const Json* form : all)
    if (value.contains("name") && value["name"] == *name_of_form(*form)) return form;
  return nullptr;
}

/// A schema that a value without a form does not meet.
Json no_form(const Json& forms, const Json& value) {
  const std::vector<const Json*> all = fitting(forms, value);
  if (!all.empty()) return any_name(all);
  std::set<std::string> types;
  for (const Json& form : forms)
    for (const std::string& type : types_of(form)) types.insert(type);
  return {{"type", types}, {"x-forms", forms}};
}

/// The schema without alternatives at this level: a part of `schema`, or `made`.
const Json& chosen(const Json& schema, const Json& value, Json& made) {
  const Json* node = &schema;
  for (const char* keyword : {"oneOf", "anyOf"}) {
    while (node->contains(keyword)) {
      const Json& forms = (*node)[keyword];
      const Json* form = choose_form(forms, value);
      if (form == nullptr) return made = no_form(forms, value);
      node = form;
    }
  }
  return *node;
}

bool has_forms(const Json& schema) {
  if (!schema.is_structured()) return false;
  if (schema.is_object() && (schema.contains("oneOf") || schema.contains("anyOf"))) return true;
  return std::any_of(schema.begin(), schema.end(), has_forms);
}

/// Every quantity as a number.
Json quantities_as_numbers(Json schema) {
  if (schema.is_object() && schema.contains("x-quantity")) schema["type"] = "number";
  if (schema.is_structured())
    for (Json& part : schema)
      if (part.is_structured()) part = quantities_as_numbers(std::move(part));
  return schema;
}

Json concrete_members(const Json& properties, const Json& object) {
  Json members = Json::object();
  for (const auto& property : properties.items()) {
    const auto member = object.find(property.key());
    if (member != object.end())
      members[property.key()] = concrete_schema(property.value(), *member);
    else
      members[property.key()] = {{"description", property.value().value("description", "")}};
  }
  return members;
}

Json concrete_elements(const Json& items, const Json& list) {
  if (!has_forms(items)) return quantities_as_numbers(items);
  Json elements = Json::array();
  for (const Json& element : list) elements.push_back(concrete_schema(items, element));
  return elements;
}

}  // namespace

Json concrete_schema(const Json& schema, const Json& value) {
  Json made;
  const Json& form = chosen(schema, value, made);
  Json node = Json::object();
  for (const auto& keyword : form.items()) {
    if (keyword.key() == "properties" && value.is_object())
      node["properties"] = concrete_members(keyword.value(), value);
    else if (keyword.key() == "items" && keyword.value().is_object() && value.is_array())
      node["items"] = concrete_elements(keyword.value(), value);
    else
      node[keyword.key()] = keyword.value();
  }
  if (node.contains("x-quantity") && !value.is_object()) node["type"] = "number";
  return node;
}

Json with_defaults(const Json& schema, Json value) {
  Json made;
  const Json& node = chosen(schema, value, made);
  if (value.is_object() && node.contains("properties")) {
    for (const auto& property : node["properties"].items())
      if (property.value().contains("default") && !value.contains(property.key()))
        value[property.key()] = property.value()["default"];
    for (const auto& property : node["properties"].items())
      if (value.contains(property.key()))
        value[property.key()] = with_defaults(property.value(), std::move(value[property.key()]));
  } else if (value.is_array() && node.contains("items") && node["items"].is_object()) {
    for (Json& element : value) element = with_defaults(node["items"], std::move(element));
  } else if (value.is_number_float() && node.value("type", Json()) == "integer") {
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::fabs(number) < 0x1p53) return static_cast<std::int64_t>(number);
  }
  return value;
}

Json in_si(const Json& concrete, Json value) {
  Dimension dimension{};
  if (value.is_string() && concrete.contains("x-quantity") &&
      dimension_from_name(concrete["x-quantity"].get<std::string>(), dimension)) {
    const ParsedQuantity parsed = parse_quantity(value.get<std::string>(), dimension);
    return parsed.ok ? Json(parsed.value) : value;
  }
  if (value.is_object()) {
    for (auto& member : value.items())
      if (const Json* schema = member_schema(concrete, member.key()))
        member.value() = in_si(*schema, std::move(member.value()));
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      if (const Json* schema = member_schema(concrete, std::to_string(i)))
        value[i] = in_si(*schema, std::move(value[i]));
  }
  return value;
}

const Json* member_schema(const Json& concrete, const std::string& token) {
  const auto properties = concrete.find("properties");
  if (properties != concrete.end() && properties->contains(token)) return &(*properties)[token];
  const auto items = concrete.find("items");
  if (items == concrete.end()) return nullptr;
  if (items->is_object()) return &*items;
  const std::size_t index = std::stoul(token);
  return index < items->size() ? &(*items)[index] : nullptr;
}

}  // namespace simsgd

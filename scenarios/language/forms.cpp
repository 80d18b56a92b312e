#include "scenarios/language/forms.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/errors.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

const Json* name_of_form(const Json& form) {
  const auto properties = form.find("properties");
  if (properties == form.end() || !properties->contains("name")) return nullptr;
  const auto name = (*properties)["name"].find("const");
  return name == (*properties)["name"].end() ? nullptr : &*name;
}

namespace {

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
  for (const Json& form : forms) add_types(form, types);
  return {{"type", types}, {"x-forms", forms}};
}

}  // namespace

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

Json with_defaults(const Json& schema, Json value) {
  Json made;
  const Json& form = form_of(schema, value, made);
  if (value.is_object() && form.contains("properties")) {
    for (const auto& [key, property] : form["properties"].items()) {
      auto member = value.find(key);
      if (member == value.end()) {
        const auto otherwise = property.find("default");
        if (otherwise == property.end()) continue;
        member = value.emplace(key, *otherwise).first;
      }
      *member = with_defaults(property, std::move(*member));
    }
  } else if (const Json* items = element_schema(form); value.is_array() && items != nullptr) {
    for (Json& element : value) element = with_defaults(*items, std::move(element));
  } else if (value.is_number_float() && form.value("type", Json()) == "integer") {
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::fabs(number) < 0x1p53) return static_cast<std::int64_t>(number);
  }
  return value;
}

std::optional<double> number_of(const Json& schema, const Json& value) {
  if (value.is_number()) return value.get<double>();
  Dimension dimension{};
  const auto quantity = schema.find("x-quantity");
  if (quantity == schema.end() || !value.is_string() ||
      !dimension_from_name(quantity->get_ref<const std::string&>(), dimension))
    return std::nullopt;
  const ParsedQuantity parsed = parse_quantity(value.get_ref<const std::string&>(), dimension);
  return parsed.ok ? std::optional(parsed.value) : std::nullopt;
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

}  // namespace simsgd

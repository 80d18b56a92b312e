// Pieces of JSON Schema (draft 7) that the sections of the scenario language need beyond their fields.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/plugin.hpp"

namespace simsgd::schema {

/// The schema of a struct with fields.
template <class Section>
Json of(Section& section, const std::string& description) {
  Fields fields;
  section.fields(fields);
  return fields.schema(description);
}

/// The schema of a choice among the plug-ins of a table.
template <class P>
Json plugin(const std::string& description, const std::vector<P>& plugins) {
  Json forms = Json::array();
  for (const P& each : plugins) each.form(forms.emplace_back());
  return {{"oneOf", std::move(forms)}, {"description", description}};
}

inline Json choice(const std::string& description, const std::vector<std::string>& values) {
  return {{"type", "string"}, {"enum", values}, {"description", description}};
}

inline Json list(const std::string& description, Json items) {
  return {{"type", "array"}, {"items", std::move(items)}, {"description", description}};
}

/// One of several forms, told apart by their type, by the constant of their "name", or by their keys.
inline Json either(const std::string& description, std::vector<Json> forms) {
  return {{"oneOf", std::move(forms)}, {"description", description}};
}

inline Json with_default(Json schema, Json value) {
  schema["default"] = std::move(value);
  return schema;
}

}  // namespace simsgd::schema

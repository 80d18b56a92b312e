// Pieces of JSON Schema (draft 7) that the sections of the scenario language need beyond their fields.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/plugin.hpp"

namespace simsgd::schema {

/// Of a struct with fields.
template <class Section>
Json of(Section& section, const std::string& description) {
  Fields fields;
  section.fields(fields);
  return fields.schema(description);
}

/// Of one plug-in of a table.
template <class P>
Json plugin(const std::string& description, const std::vector<P>& plugins) {
  Json forms = Json::array();
  for (const P& each : plugins) each.form(forms.emplace_back());
  return {{"oneOf", std::move(forms)}, {"description", description}};
}

Json choice(const std::string& description, const std::vector<std::string>& values);
Json list(const std::string& description, Json items);
/// One of several forms, told apart by their type, by the constant of their "name", or by their keys.
Json either(const std::string& description, std::vector<Json> forms);
Json with_default(Json schema, Json value);

}  // namespace simsgd::schema

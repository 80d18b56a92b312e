// The schema of the scenario language, JSON Schema draft 7, put together from the plug-ins' fragments.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// The schema of a scenario whose `use`s are resolved, with which the loader validates.
const Json& resolved_schema();

/// What a number without an upper bound of its own may be at most. `dimension` as "x-quantity" has it; empty
/// for a plain number.
double largest_of(const std::string& dimension);

/// Kinds of files that have a schema: "scenario", "study", "cluster", "device", "workload".
const std::vector<std::string>& file_kinds();

/// The schema of files of a kind as people write them: `use` is allowed in every object, an object with a
/// `use` may leave out what the used file has, and "$schema" may say where the schema is. A scenario's admits
/// studies too.
Json file_schema(const std::string& kind);

/// The same for editors, with what recurs under "$defs" (file_schemas.cpp): `simsgd schema` prints its text.
Json editor_schema(const std::string& kind);
std::string editor_schema_text(const std::string& kind);
/// By their names, the files of a folder that has all kinds: they share the definitions of the scenario's.
std::map<std::string, std::string> schema_files();

/// Pointers of the objects whose `name` chooses a plug-in.
const std::set<std::string>& named_choices();

}  // namespace simsgd

namespace simsgd::schema {

// Pieces of JSON Schema (draft 7) that the sections of the scenario language need beyond their fields.

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

// The schema of the scenario language, JSON Schema draft 7, put together from the plug-ins' fragments.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"

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

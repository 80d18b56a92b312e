// The schema of the scenario language, JSON Schema draft 7, put together from the plug-ins' fragments.
#pragma once

#include <set>
#include <string>

#include "sim/plugin.hpp"

namespace simsgd {

/// Of a scenario whose `use`s are resolved: what the loader validates with.
const Json& resolved_schema();

/// Of files as people write them: `use` is allowed in every object, and an object with a `use` may leave out
/// what the used file has. This is what `simsgd schema` prints and what editors complete from.
Json scenario_schema();

/// Pointers of the objects whose `name` chooses a plug-in.
const std::set<std::string>& named_choices();

}  // namespace simsgd

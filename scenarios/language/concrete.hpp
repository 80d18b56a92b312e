// From the schema of all scenarios to the schema of this one. Where a schema allows several forms (a name
// that chooses a plug-in, text or an object), the value chooses one; what is left has no alternatives, so
// that whatever is wrong is wrong about the form that was meant.
#pragma once

#include "sim/base/fields.hpp"

namespace simsgd {

/// The schema that exactly this value must meet. Quantities become numbers (see in_si). Where no form fits, a
/// schema that the value does not meet, with the forms in "x-forms".
Json concrete_schema(const Json& schema, const Json& value);

/// `value` with every default filled in, and whole numbers written as such (8.0 as 8) where the schema wants
/// them.
Json with_defaults(const Json& schema, Json value);

/// `value` with quantities in SI numbers; text that is no quantity stays text.
Json in_si(const Json& concrete, Json value);

/// The schema of a member or element of the value that `concrete` describes; null where it has none.
const Json* member_schema(const Json& concrete, const std::string& token);

}  // namespace simsgd

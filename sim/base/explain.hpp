// A value beside its schema: defaults for what is missing, a sentence for what is wrong and what would be
// right. Where a schema allows several forms (a name that chooses a plug-in, text or an object), a value is
// meant to have one of them, and whatever is wrong with it is wrong about that form.
#pragma once

#include <string>
#include <vector>

#include "sim/base/field.hpp"

namespace simsgd {

/// The name that chooses a form of an object; null where none does.
const Json* name_of_form(const Json& form);

/// The schema that a form has for a member or an element; null where it has none.
const Json* part_schema(const Json& form, const std::string& key);
const Json* element_schema(const Json& form);

/// The schema of what is, or could be, at `path` in a value; null where the forms of the values on the way
/// have none.
const Json* schema_at(const Json& schema, const Json& value, const std::vector<std::string>& path);

/// `value` with quantities in SI numbers; text that is not a quantity stays text.
Json in_si(const Json& schema, Json value);

struct Explanation {
  std::string pointer;  ///< relative to the value
  std::string problem;
  std::string remedy;
  bool about_missing_key = false;
};

/// Fills in every default that `value` lacks, and writes whole numbers as such (8.0 as 8) where the schema
/// wants them. Returns everything that is wrong with the value and with what is in it, which comes first.
std::vector<Explanation> complete(const Json& schema, Json& value);
Json with_defaults(const Json& schema, Json value);

/// What the schema's own keywords say of a value, without those of its members.
std::vector<Explanation> explain_itself(const Json& form, const Json& value);

/// Which numbers a schema admits.
NumberRange range_of(const Json& schema);

/// What a schema asks for, to follow "Write": "a whole number of at least 1".
std::string wanted(const Json& schema);

}  // namespace simsgd

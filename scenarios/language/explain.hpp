// A value beside its schema: defaults for what is missing, a sentence for what is wrong and what would be
// right. Where a schema allows several forms (a name that chooses a plug-in, text or an object), a value is
// meant to have one of them, and whatever is wrong with it is wrong about that form.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "sim/base/fields.hpp"

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

/// The number that `value` is or, where the schema wants a quantity, stands for as text.
std::optional<double> number_of(const Json& schema, const Json& value);

struct Explanation {
  std::string pointer;  ///< relative to the value
  std::string problem;
  std::string remedy;
  bool about_missing_key = false;
};

/// Everything that is wrong with a value and with what is in it, which comes first.
std::vector<Explanation> explain(const Json& schema, Json value);

/// What a schema asks for, to follow "Write": "a whole number of at least 1".
std::string wanted(const Json& schema);

/// `value` with every default filled in, and whole numbers written as such (8.0 as 8) where the schema wants
/// them.
Json with_defaults(const Json& schema, Json value);
/// The same, and adds everything that is wrong with an object. Keys that are missing in the objects of
/// `incomplete` are not errors of their own.
Json checked(const Json& schema, Json value, const Provenance& origins,
             const std::set<std::string>& incomplete, ErrorList& errors);

/// The same of one member of an object, in place; `schema` is the object's and has the member.
void check_member(const Json& schema, const std::string& key, Json& object, const Provenance& origins,
                  const std::set<std::string>& incomplete, ErrorList& errors);
/// What is wrong with an object apart from its members: keys that are unknown or missing.
void check_keys(const Json& schema, const Json& object, const Provenance& origins,
                const std::set<std::string>& incomplete, ErrorList& errors);

}  // namespace simsgd

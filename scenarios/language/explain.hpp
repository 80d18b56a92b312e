// From a schema to a sentence: what is wrong with a value, and what would be right.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

struct Explanation {
  std::string pointer;  ///< relative to the value
  std::string problem;
  std::string remedy;
  bool about_missing_key = false;
};

/// Everything that is wrong with a value and with what is in it, which comes first.
std::vector<Explanation> explain(const Json& schema, const Json& value);

/// What a schema asks for, to follow "Write": "a whole number of at least 1".
std::string wanted(const Json& schema);

/// Adds everything that is wrong with an object. Keys that are missing in the objects of `incomplete` are not
/// errors of their own.
void validate(const Json& schema, const Json& value, const Provenance& origins,
              const std::set<std::string>& incomplete, ErrorList& errors);

}  // namespace simsgd

// From a schema to a sentence: what is wrong with a value, and what would be right.
#pragma once

#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

struct Explanation {
  std::string pointer;  ///< relative to the value: empty, or the key that is unknown
  std::string problem;
  std::string remedy;
  bool about_missing_key = false;
};

/// Everything that a value breaks of the schema's own keywords, not of those of its members. `written`: the
/// value as in the file; `si`: with quantities as numbers.
std::vector<Explanation> explain(const Json& schema, const Json& written, const Json& si);

/// What a schema asks for, to follow "Write": "a whole number of at least 1".
std::string wanted(const Json& schema);

}  // namespace simsgd

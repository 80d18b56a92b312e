// From a schema to a sentence: what is wrong with a value, and what would be right.
#pragma once

#include <string>
#include <vector>

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

}  // namespace simsgd

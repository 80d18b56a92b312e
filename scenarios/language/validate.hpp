// Validation of a resolved scenario against its schema, and its errors in sentences.
#pragma once

#include <set>
#include <string>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/provenance.hpp"

namespace simsgd {

/// Adds everything that is wrong with an object. Keys that are missing in the objects of `incomplete` are not
/// errors of their own.
void validate(const Json& schema, const Json& value, const Provenance& origins,
              const std::set<std::string>& incomplete, ErrorList& errors);

}  // namespace simsgd

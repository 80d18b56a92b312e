// Validation of a resolved scenario against its schema, and its errors in sentences.
#pragma once

#include <set>
#include <string>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/provenance.hpp"

namespace simsgd {

/// Whether `value` meets a draft 7 schema (valijson), and where not: JSON pointers, each once, with the
/// library's own sentence.
struct Violation {
  std::vector<std::string> path;  ///< tokens
  std::string sentence;
};
std::vector<Violation> violations(const Json& schema, const Json& value);

/// Adds everything that is wrong with an object, section by section. Keys that are missing in the objects of
/// `incomplete` are not errors of their own. The sections `right` are known to be right; returns those that
/// were found right now.
std::set<std::string> validate(const Json& schema, const Json& value, const Provenance& origins,
                               const std::set<std::string>& incomplete, ErrorList& errors,
                               const std::set<std::string>& right = {});

}  // namespace simsgd

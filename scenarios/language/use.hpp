// `"use": "file.json"` in any object: the file's object is the base, and the other keys are merged over it,
// objects key by key, everything else as a whole. `use` is a key like others, so setting another one keeps
// what is written beside it. Two rules keep descriptions from mixing:
// - an object that gets a `use` replaces an object in its place that has a `name` and no `use`: another
// device is
//   another device, not the old one with some numbers of the new;
// - where a `name` chooses a plug-in, an object with another name replaces the one in its place.
//
// Assignments: values set from outside of the file, by `--set /pointer=value`, `--seed N` or a study's axes.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

/// What the command line changes.
struct Overrides {
  /// Pointer and value. A value is JSON where it parses, else text.
  std::vector<std::pair<std::string, std::string>> set;
  std::optional<std::uint64_t> seed;
};

/// `--set` as the command line has it, "/pointer=value". Throws ConfigError.
std::pair<std::string, std::string> parse_set(const std::string& argument);

struct Assignment {
  std::string pointer;
  Json value;
  Origin origin;
  bool operator==(const Assignment&) const = default;
};

std::vector<Assignment> assignments(const Overrides& overrides);

/// Sets the value at the pointer. Missing members of objects are made; an index must exist, "-" appends. What
/// is wrong with the pointer, or "".
std::string assign(Json& document, const Assignment& assignment);

/// A scenario whose `use`s have been resolved away.
struct Sourced {
  Json value;
  Provenance origins;
  std::map<std::string, std::string> uses;  ///< pointer of an object: the file that it used, as written
  std::set<std::string> incomplete;         ///< objects whose file could not be used
};

/// The top-level member that an assignment changes, or "use", which may change all.
std::string changed_section(const Assignment& assignment);

/// Reads `file`, resolves every `use`, and makes the assignments: those of a `use` before, all others after
/// it. `choices`: pointers of the objects whose `name` chooses a plug-in.
Sourced resolve_uses(JsonFiles& files, const std::string& file, const std::vector<Assignment>& assignments,
                     const std::set<std::string>& choices, ErrorList& errors);
/// The same of one top-level member, as if the files had no other. `assignments`: that change it.
Sourced resolve_uses_in(const std::string& section, JsonFiles& files, const std::string& file,
                        const std::vector<Assignment>& assignments, const std::set<std::string>& choices,
                        ErrorList& errors);

/// Of products that a user measured, a CSV file that "use" of a device's "gemm" names (gemm_file.cpp), the
/// object that "gemm" then is: {"times": [{"m": ..., "n": ..., "k": ..., "time": ...}, ...]}. Throws
/// ConfigError with all that is wrong with the text, line by line; `file` is the name that errors give it.
Json gemm_of_csv(const std::string& text, const std::string& file);

}  // namespace simsgd

// Assignments: values set from outside a scenario's file, by `--set /pointer=value`, `--seed N` or a study's
// axes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/provenance.hpp"
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

}  // namespace simsgd

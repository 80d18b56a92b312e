#include "scenarios/validate.hpp"

#include <algorithm>

#include "scenarios/concrete.hpp"
#include "scenarios/explain.hpp"

namespace simsgd {

namespace {

/// Whether nothing below the violation is wrong, so that it speaks for itself.
bool is_leaf(const Violation& violation, const std::vector<Violation>& all) {
  return std::none_of(all.begin(), all.end(), [&violation](const Violation& other) {
    return other.path.size() > violation.path.size() &&
           std::equal(violation.path.begin(), violation.path.end(), other.path.begin());
  });
}

}  // namespace

void validate(const Json& schema, const Json& value, const Provenance& origins,
              const std::set<std::string>& incomplete, ErrorList& errors) {
  const Json concrete = concrete_schema(schema, value);
  const Json si = in_si(concrete, value);
  const std::vector<Violation> all = violations(concrete, si);
  for (const Violation& violation : all) {
    const Json* node = &concrete;
    std::string pointer;
    for (const std::string& token : violation.path) {
      pointer = child(pointer, token);
      node = node == nullptr ? nullptr : member_schema(*node, token);
    }
    const Json* written = value_at(value, pointer);
    const Json* number = value_at(si, pointer);
    if (node == nullptr || written == nullptr || number == nullptr) continue;
    const std::vector<Explanation> explanations = explain(*node, *written, *number);
    if (explanations.empty() && is_leaf(violation, all))
      errors.add(value, origins, pointer, "does not meet its schema",
                 violation.sentence.substr(0, violation.sentence.find_last_not_of('.') + 1));
    for (const Explanation& each : explanations) {
      if (!each.about_missing_key) {
        errors.add(value, origins, pointer + each.pointer, each.problem, each.remedy);
      } else if (!incomplete.contains(pointer)) {
        const Origin origin = origins.at(pointer);
        errors.add(pointer, {origin.file, origin.pointer, each.problem, "", each.remedy});
      }
    }
  }
}

}  // namespace simsgd

#include "scenarios/language/validate.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/concrete.hpp"
#include "scenarios/language/explain.hpp"

namespace simsgd {

namespace {

/// Whether nothing below the violation is wrong, so that it speaks for itself.
bool is_leaf(const Violation& violation, const std::vector<Violation>& all) {
  return std::none_of(all.begin(), all.end(), [&violation](const Violation& other) {
    return other.path.size() > violation.path.size() &&
           std::equal(violation.path.begin(), violation.path.end(), other.path.begin());
  });
}

/// What a message is made of: where `value` stands in the document, and what the document is.
struct Place {
  const std::string& pointer;
  const Json& document;
  const Provenance& origins;
  const std::set<std::string>& incomplete;
  ErrorList& errors;
};

void report(const Place& place, const std::string& pointer, const std::vector<Explanation>& explanations) {
  for (const Explanation& each : explanations) {
    if (!each.about_missing_key) {
      place.errors.add(place.document, place.origins, pointer + each.pointer, each.problem, each.remedy);
    } else if (!place.incomplete.contains(pointer)) {
      const Origin origin = place.origins.at(pointer);
      place.errors.add(pointer, {origin.file, origin.pointer, each.problem, "", each.remedy});
    }
  }
}

/// Whether there is nothing wrong with a section.
bool validate_section(const Json& schema, const Json& value, const Place& place) {
  const Json concrete = concrete_schema(schema, value);
  const Json si = in_si(concrete, value);
  const std::vector<Violation> all = violations(concrete, si);
  for (const Violation& violation : all) {
    const Json* node = &concrete;
    std::string below;
    for (const std::string& token : violation.path) {
      below = child(below, token);
      node = node == nullptr ? nullptr : member_schema(*node, token);
    }
    const Json* written = value_at(value, below);
    const Json* number = value_at(si, below);
    if (node == nullptr || written == nullptr || number == nullptr) continue;
    const std::vector<Explanation> explanations = explain(*node, *written, *number);
    const std::string pointer = place.pointer + below;
    if (explanations.empty() && is_leaf(violation, all))
      place.errors.add(place.document, place.origins, pointer, "does not meet its schema",
                       violation.sentence.substr(0, violation.sentence.find_last_not_of('.') + 1));
    report(place, pointer, explanations);
  }
  return all.empty();
}

/// The schema of an object's own keys: which there are, and which it must have.
Json keys_alone(const Json& schema) {
  Json keys = Json::object();
  for (const auto& keyword : schema.items())
    if (keyword.key() != "properties") keys[keyword.key()] = keyword.value();
  for (const auto& property : schema["properties"].items())
    keys["properties"][property.key()] = {{"description", property.value().value("description", "")}};
  return keys;
}

}  // namespace

std::set<std::string> validate(const Json& schema, const Json& value, const Provenance& origins,
                               const std::set<std::string>& incomplete, ErrorList& errors,
                               const std::set<std::string>& right) {
  std::set<std::string> found;
  for (const auto& property : schema["properties"].items()) {
    const auto section = value.find(property.key());
    if (section == value.end() || right.contains(property.key())) continue;
    const std::string pointer = child("", property.key());
    if (validate_section(property.value(), *section, {pointer, value, origins, incomplete, errors}))
      found.insert(property.key());
  }
  static const std::string kRoot;
  report({kRoot, value, origins, incomplete, errors}, "", explain(keys_alone(schema), value, value));
  return found;
}

}  // namespace simsgd

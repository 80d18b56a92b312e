#include "scenarios/language/validate.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/language/explain.hpp"

namespace simsgd {

void validate(const Json& schema, const Json& value, const Provenance& origins,
              const std::set<std::string>& incomplete, ErrorList& errors) {
  for (const Explanation& each : explain(schema, value)) {
    if (!each.about_missing_key) {
      errors.add(value, origins, each.pointer, each.problem, each.remedy);
    } else if (!incomplete.contains(each.pointer)) {
      const Origin origin = origins.at(each.pointer);
      errors.add(each.pointer, {origin.file, origin.pointer, each.problem, "", each.remedy});
    }
  }
}

}  // namespace simsgd

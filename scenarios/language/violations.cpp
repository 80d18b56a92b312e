// The one file that includes valijson, which takes seconds to compile.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "scenarios/language/validate.hpp"

namespace simsgd {

namespace {
constexpr std::size_t kMostViolations = 1000;  // of these ErrorList reports a hundred
}  // namespace

std::vector<Violation> violations(const Json& schema, const Json& value) {
  valijson::Schema parsed;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), parsed);
  valijson::ValidationResults results;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(value), &results)) return {};
  std::vector<Violation> all;
  for (const valijson::ValidationResults::Error& error : results) {
    Violation violation{{}, error.description};
    // A context is "<root>", "[key]", "[0]", ...
    for (std::size_t i = 1; i < error.context.size(); ++i)
      violation.path.push_back(error.context[i].substr(1, error.context[i].size() - 2));
    const bool known = std::any_of(all.begin(), all.end(), [&violation](const Violation& other) {
      return other.path == violation.path;
    });
    if (!known) all.push_back(std::move(violation));
    if (all.size() == kMostViolations) break;
  }
  return all;
}

}  // namespace simsgd

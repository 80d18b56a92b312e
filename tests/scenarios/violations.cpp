// The one file that includes valijson, which takes seconds to compile.
#include "tests/scenarios/violations.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace simsgd::test {

std::vector<std::vector<std::string>> violations(const nlohmann::json& schema, const nlohmann::json& value) {
  valijson::Schema parsed;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), parsed);
  valijson::ValidationResults results;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(value), &results)) return {};
  std::vector<std::vector<std::string>> all;
  for (const valijson::ValidationResults::Error& error : results) {
    std::vector<std::string> path;
    // A context is "<root>", "[key]", "[0]", ...
    for (std::size_t i = 1; i < error.context.size(); ++i)
      path.push_back(error.context[i].substr(1, error.context[i].size() - 2));
    if (std::find(all.begin(), all.end(), path) == all.end()) all.push_back(std::move(path));
  }
  return all;
}

}  // namespace simsgd::test

// A validator of JSON Schema that is not ours, for what the schemas say to editors.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace simsgd::test {

/// Whether `value` meets a draft 7 schema (valijson), and where not: tokens of JSON pointers, each once.
std::vector<std::vector<std::string>> violations(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace simsgd::test

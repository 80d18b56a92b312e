#include "scenarios/language/schema_parts.hpp"

#include <nlohmann/json.hpp>

namespace simsgd::schema {

Json choice(const std::string& description, const std::vector<std::string>& values) {
  return {{"type", "string"}, {"enum", values}, {"description", description}};
}

Json list(const std::string& description, Json items) {
  return {{"type", "array"}, {"items", std::move(items)}, {"description", description}};
}

Json either(const std::string& description, std::vector<Json> forms) {
  return {{"oneOf", std::move(forms)}, {"description", description}};
}

Json with_default(Json schema, Json value) {
  schema["default"] = std::move(value);
  return schema;
}

}  // namespace simsgd::schema

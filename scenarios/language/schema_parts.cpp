#include "scenarios/language/schema_parts.hpp"

#include <limits>

namespace simsgd::schema {

Json integer(const std::string& description, std::int64_t minimum) {
  return at_most(big_integer(description, minimum), std::numeric_limits<std::int32_t>::max());
}

Json big_integer(const std::string& description, std::int64_t minimum) {
  return {{"type", "integer"},
          {"minimum", minimum},
          {"maximum", std::int64_t{1} << 53},
          {"description", description}};
}

Json number(const std::string& description) { return {{"type", "number"}, {"description", description}}; }

Json text(const std::string& description) { return {{"type", "string"}, {"description", description}}; }

Json flag(const std::string& description) { return {{"type", "boolean"}, {"description", description}}; }

Json choice(const std::string& description, const std::vector<std::string>& values) {
  return {{"type", "string"}, {"enum", values}, {"description", description}};
}

Json list(const std::string& description, Json items) {
  return {{"type", "array"}, {"items", std::move(items)}, {"description", description}};
}

Json object(const std::string& description, Json properties, const std::vector<std::string>& required) {
  Json schema = {{"type", "object"},
                 {"description", description},
                 {"properties", std::move(properties)},
                 {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Json either(const std::string& description, std::vector<Json> forms) {
  return {{"oneOf", std::move(forms)}, {"description", description}};
}

Json plugin(const std::string& description, const std::vector<PluginInfo>& plugins) {
  std::vector<Json> forms;
  for (const PluginInfo& info : plugins) {
    Json properties = info.properties.is_object() ? info.properties : Json::object();
    properties["name"] = {{"type", "string"}, {"const", info.name}, {"description", info.summary}};
    std::vector<std::string> required = info.required;
    required.insert(required.begin(), "name");
    Json form = object(info.summary, std::move(properties), required);
    form["title"] = info.name;
    if (!info.citation.empty()) form["$comment"] = info.citation;
    forms.push_back(std::move(form));
  }
  return either(description, std::move(forms));
}

Json with_default(Json schema, Json value) {
  schema["default"] = std::move(value);
  return schema;
}

Json at_least(Json schema, double minimum) {
  schema["minimum"] = minimum;
  return schema;
}

Json time_of(const std::string& description) { return at_least(quantity("time", description), 0); }

Json at_most(Json schema, double maximum) {
  schema["maximum"] = maximum;
  return schema;
}

Json above(Json schema, double bound) {
  schema["exclusiveMinimum"] = bound;
  return schema;
}

}  // namespace simsgd::schema

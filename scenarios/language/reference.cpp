#include "scenarios/language/reference.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/provenance.hpp"
#include "scenarios/language/reference_text.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd {

namespace {

bool is_required(const Json& object, const std::string& key) {
  const Json required = object.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

ReferenceKey key_of(const std::string& pointer, const Json& schema, bool required) {
  return {.pointer = pointer,
          .type = type_text(schema),
          .unit = unit_text(schema),
          .range = range_text(schema),
          .default_value = schema.contains("default") ? schema["default"].dump() : "",
          .rule = schema.value("x-default", ""),
          .meaning = schema.value("description", ""),
          .example = example_text(schema),
          .source = schema.value("x-source", ""),
          .required = required,
          .values = values_of(schema)};
}

bool same(const ReferenceObject& a, const ReferenceObject& b) {
  return a.pointer == b.pointer && a.plugin == b.plugin && a.meaning == b.meaning &&
         std::equal(a.keys.begin(), a.keys.end(), b.keys.begin(), b.keys.end(),
                    [](const ReferenceKey& x, const ReferenceKey& y) { return to_json(x) == to_json(y); });
}

class Walk {
 public:
  /// `of`: the name of the innermost plug-in around `schema`; empty outside of all.
  void visit(const Json& schema, const std::string& pointer, const std::string& of) {
    if (schema.contains("properties")) visit_object(schema, pointer, of);
    if (schema.contains("items")) visit(schema["items"], child(pointer, "*"), of);
    if (!schema.contains("oneOf")) return;
    add_choice(schema, pointer, of);
    for (const Json& form : schema["oneOf"]) visit(form, pointer, of);
  }

  std::vector<ReferenceObject> take() { return std::move(all_); }

 private:
  void visit_object(const Json& schema, const std::string& pointer, const std::string& of) {
    const bool plugin = is_plugin_form(schema);
    const std::string name = plugin ? schema["properties"]["name"]["const"].get<std::string>() : "";
    ReferenceObject object = {
        pointer, name, {}, schema.value("description", ""), schema.value("$comment", ""), {}};
    for (const auto& property : schema["properties"].items())
      if (!plugin || property.key() != "name")
        object.keys.push_back(
            key_of(child(pointer, property.key()), property.value(), is_required(schema, property.key())));
    add(std::move(object), of);
    for (const auto& property : schema["properties"].items())
      if (!plugin || property.key() != "name")
        visit(property.value(), child(pointer, property.key()), plugin ? name : of);
  }

  /// Of forms that their names tell apart: which names there are.
  void add_choice(const Json& schema, const std::string& pointer, const std::string& of) {
    Json names = Json::array();
    for (const Json& form : schema["oneOf"])
      if (is_plugin_form(form)) names.push_back(form["properties"]["name"]["const"]);
    if (names.empty()) return;
    const Json name = {{"type", "string"}, {"enum", std::move(names)}, {"description", "Which one it is"}};
    add({pointer, "", {}, schema.value("description", ""), "", {key_of(child(pointer, "name"), name, true)}},
        of);
  }

  void add(ReferenceObject object, const std::string& of) {
    const auto known = std::find_if(all_.begin(), all_.end(),
                                    [&object](const ReferenceObject& each) { return same(each, object); });
    if (known == all_.end()) {
      if (!of.empty()) object.of.push_back(of);
      all_.push_back(std::move(object));
    } else if (!of.empty() && !known->of.empty() &&
               std::find(known->of.begin(), known->of.end(), of) == known->of.end()) {
      known->of.push_back(of);
    }
  }

  std::vector<ReferenceObject> all_;
};

}  // namespace

std::vector<ReferenceObject> reference_of(const Json& schema, const std::string& pointer) {
  Walk walk;
  walk.visit(schema, pointer, "");
  return walk.take();
}

const std::vector<ReferenceObject>& reference() {
  static const std::vector<ReferenceObject> all = reference_of(resolved_schema(), "");
  return all;
}

Json to_json(const ReferenceKey& key) {
  Json json = {{"pointer", key.pointer}, {"type", key.type}, {"meaning", key.meaning}};
  const auto add = [&json](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = text;
  };
  add("unit", key.unit);
  add("range", key.range);
  add("default_rule", key.rule);
  add("source", key.source);
  json["example"] = Json::parse(key.example);
  if (!key.default_value.empty()) json["default"] = Json::parse(key.default_value);
  json["required"] = key.required;
  for (const std::string& value : key.values) json["values"].push_back(Json::parse(value));
  return json;
}

}  // namespace simsgd

#include "scenarios/language/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

struct DimensionWords {
  const char *name, *unit, *example;
};
constexpr DimensionWords kDimensions[] = {
    {"time", "s", "\"20 ms\""},
    {"bytes", "B", "\"16 GB\""},
    {"bandwidth", "B/s", "\"10 Gbps\""},
    {"flop", "flop", "\"4.1 GFLOP\""},
    {"flops", "flop/s", "\"15.7 TFLOPS\""},
    {"power", "W", "\"300 W\""},
};

const DimensionWords* dimension_of(const Json& schema) {
  const std::string name = schema.value("x-quantity", "");
  for (const DimensionWords& each : kDimensions)
    if (name == each.name) return &each;
  return nullptr;
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

void add_once(std::vector<std::string>& all, const std::string& text) {
  if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(text);
}

const Json* forms_of(const Json& schema) {
  const auto forms = schema.find("oneOf");
  return forms == schema.end() ? nullptr : &*forms;
}

std::string word_of(const std::string& type, const Json& schema) {
  if (type == "integer") return "whole number";
  if (type == "boolean") return "true or false";
  if (type == "string") return "text";
  if (type == "array" && schema.contains("items")) return "list of: " + type_text(schema["items"]);
  if (type == "array") return "list";
  if (type == "object") return name_of_form(schema) ? "object by its name" : "object";
  return type;
}

bool is_technical(const Json& schema, const Json& bound) {
  if (bound == largest_of(schema.value("x-quantity", ""))) return true;
  return schema.value("type", Json()) == "integer" &&
         (bound == std::numeric_limits<int>::max() || bound == std::int64_t{1} << 53);
}

std::string number_text(const Json& number) {
  return number.is_number_float() ? fmt::format("{:g}", number.get<double>()) : number.dump();
}

/// The range of a number, text or list, without that of the elements.
std::vector<std::string> own_range(const Json& schema) {
  std::vector<std::string> parts;
  const auto bound = [&](const char* key, const std::string& words, const char* after) {
    if (schema.contains(key)) parts.push_back(words + number_text(schema[key]) + after);
  };
  bound("minimum", ">= ", "");
  bound("exclusiveMinimum", "> ", "");
  if (schema.contains("maximum") && !is_technical(schema, schema["maximum"])) bound("maximum", "<= ", "");
  bound("exclusiveMaximum", "< ", "");
  if (schema.value("minItems", 0) == 1) parts.emplace_back("not empty");
  if (schema.value("minItems", 0) > 1) bound("minItems", "at least ", " elements");
  if (schema.value("minLength", 0) == 1) parts.emplace_back("not empty");
  if (schema.value("minLength", 0) > 1) bound("minLength", "at least ", " characters");
  bound("maxLength", "at most ", " characters");
  bound("minProperties", "at least ", " of its keys");
  if (schema.value("uniqueItems", false)) parts.emplace_back("all different");
  return parts;
}

Json example_number(const Json& schema) {
  const bool whole = schema.value("type", Json()) == "integer";
  for (const double number : {0.5, 8.0, 2.0, 1.0, 0.1, 0.0, 1e-3, 16.0, 100.0})
    if (range_of(schema).admits(number) && (!whole || number >= 1 || number == 0))
      return whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
  return schema.value("minimum", Json(0));
}

Json example_of(const Json& schema);

Json example_object(const Json& schema) {
  Json object = Json::object();
  for (const Json& key : schema.value("required", Json::array()))
    object[key.get<std::string>()] = example_of(schema["properties"][key.get<std::string>()]);
  if (object.empty() && schema.contains("minProperties") && schema.contains("properties")) {
    const auto first = schema["properties"].begin();
    object[first.key()] = example_of(first.value());
  }
  return object;
}

Json example_list(const Json& schema) {
  Json list = Json::array();
  if (schema.contains("items")) list.push_back(example_of(schema["items"]));
  const bool distinct = schema.value("uniqueItems", false);
  while (list.size() < schema.value("minItems", std::size_t{0})) {
    Json next = list.back();
    if (distinct && next.is_number_integer()) next = next.get<std::int64_t>() + 1;
    list.push_back(std::move(next));
  }
  return list;
}

/// 0 is often "none" or "unknown".
bool shows_something(const Json& value) {
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return value != 0 && !value.is_null() && !(value.is_structured() && value.empty());
}

Json example_of(const Json& schema) {
  if (schema.contains("examples") && !schema["examples"].empty()) return schema["examples"][0];
  if (schema.contains("default") && shows_something(schema["default"])) return schema["default"];
  if (schema.contains("const")) return schema["const"];
  if (schema.contains("enum")) return schema["enum"][0];
  if (const Json* forms = forms_of(schema)) {
    for (const Json& form : *forms)
      if (form.value("type", Json()) != "null") return example_of(form);
  }
  if (const DimensionWords* dimension = dimension_of(schema)) return Json::parse(dimension->example);
  const Json type = schema.value("type", Json());
  const std::string first = type.is_array()    ? type[0].get<std::string>()
                            : type.is_string() ? std::string(type)
                                               : "";
  if (first == "integer" || first == "number") return example_number(schema);
  if (first == "boolean") return true;
  if (first == "array") return example_list(schema);
  if (first == "object") return example_object(schema);
  return first == "string" ? Json("text") : Json(8);
}

}  // namespace

std::vector<std::string> values_of(const Json& schema) {
  std::vector<std::string> values;
  for (const Json& value : schema.value("enum", Json::array())) values.push_back(value.dump());
  if (schema.contains("const")) values.push_back(schema["const"].dump());
  if (schema.value("type", Json()) == "boolean") values = {"true", "false"};
  if (const Json* forms = forms_of(schema))
    for (const Json& form : *forms)
      for (const std::string& value : values_of(form)) add_once(values, value);
  return values;
}

std::string type_text(const Json& schema) {
  std::vector<std::string> words;
  if (const Json* forms = forms_of(schema)) {
    for (const Json& form : *forms) add_once(words, type_text(form));
    return joined(words, " or ");
  }
  if (dimension_of(schema) != nullptr) return schema["x-quantity"].get<std::string>();
  if (schema.contains("enum") || schema.contains("const")) return joined(values_of(schema), " or ");
  const Json type = schema.value("type", Json());
  if (type.is_string()) return word_of(type.get<std::string>(), schema);
  for (const Json& each : type) add_once(words, word_of(each.get<std::string>(), schema));
  return words.empty() ? "any value" : joined(words, " or ");
}

std::string range_text(const Json& schema) {
  std::vector<std::string> parts = own_range(schema);
  if (schema.contains("items"))
    if (const std::string each = range_text(schema["items"]); !each.empty()) parts.push_back("each " + each);
  if (const Json* forms = forms_of(schema)) {
    std::vector<std::string> ranges;
    for (const Json& form : *forms)
      if (const std::string range = range_text(form); !range.empty() && !form.contains("properties"))
        add_once(ranges, type_text(form) + " " + range);
    if (!ranges.empty()) parts.push_back(joined(ranges, "; "));
  }
  return joined(parts, ", ");
}

std::string example_text(const Json& schema) { return example_of(schema).dump(); }

namespace {

bool is_required(const Json& object, const std::string& key) {
  const Json required = object.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

/// The SI unit of a quantity, or of the quantities of a list; empty for everything else.
std::string unit_text(const Json& schema) {
  if (const DimensionWords* dimension = dimension_of(schema)) return dimension->unit;
  if (schema.contains("items")) return unit_text(schema["items"]);
  if (const Json* forms = forms_of(schema))
    for (const Json& form : *forms)
      if (std::string unit = unit_text(form); !unit.empty()) return unit;
  return "";
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
    const Json* const plugin = name_of_form(schema);
    const std::string name = plugin ? plugin->get<std::string>() : "";
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

  /// Adds the key "name" of forms that their names tell apart, with all names.
  void add_choice(const Json& schema, const std::string& pointer, const std::string& of) {
    Json names = Json::array();
    for (const Json& form : schema["oneOf"])
      if (const Json* name = name_of_form(form)) names.push_back(*name);
    if (names.empty()) return;
    const Json name = {
        {"type", "string"}, {"enum", std::move(names)}, {"description", "Name of the placement"}};
    add({pointer, "", {}, schema.value("description", ""), "", {key_of(child(pointer, "name"), name, true)}},
        of);
  }

  void add(ReferenceObject object, const std::string& of) {
    const auto known =
        std::ranges::find_if(all_, [&object](const ReferenceObject& each) { return same(each, object); });
    if (known == all_.end()) {
      if (!of.empty()) object.of.push_back(of);
      all_.push_back(std::move(object));
    } else if (!of.empty() && !known->of.empty() && std::ranges::find(known->of, of) == known->of.end()) {
      known->of.push_back(of);
    }
  }

  std::vector<ReferenceObject> all_;
};

/// The keys of the objects in any schema, of which the outermost stands at `pointer`.
std::vector<ReferenceObject> reference_of(const Json& schema, const std::string& pointer) {
  Walk walk;
  walk.visit(schema, pointer, "");
  return walk.take();
}

}  // namespace

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

#include "sim/base/fields.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"
#include "sim/base/explain.hpp"

namespace simsgd {

Field& Fields::add(std::string_view key, Words meaning, std::function<Json()> schema) {
  Field& field = all_.emplace_back();
  field.key_ = key;
  field.meaning_ = std::move(meaning);
  field.schema_ = std::move(schema);
  return field;
}

Field& Fields::add_object(std::string_view key, const std::shared_ptr<Fields>& inner, Words meaning) {
  Field& field = add(key, std::move(meaning), [inner] {
    Json schema = inner->schema("");
    const Json& properties = schema["properties"];
    if (!schema.contains("required") &&
        std::any_of(properties.begin(), properties.end(),
                    [](const Json& property) { return property.contains("default"); }))
      schema["default"] = Json::object();
    return schema;
  });
  field.is_object_ = true;
  field.read_ = [inner](const Json& json) { return inner->set(json); };
  field.write_ = [inner](Json& json) {
    inner->write_missing(json);
    return !json.empty() && std::none_of(inner->all_.begin(), inner->all_.end(),
                                         [](const Field& each) { return each.required_; });
  };
  return field;
}

Field& Fields::add_optional_object(std::string_view key, Words meaning, Sample sample,
                                   std::function<bool(const Json&)> read, std::function<bool(Json&)> write) {
  Field& field = add(key, std::move(meaning), [sample = std::move(sample)] { return sample()->schema(""); });
  field.is_object_ = true;
  field.read_ = std::move(read);
  field.write_ = std::move(write);
  return field;
}

Field& Fields::add_objects(std::string_view key, Words meaning, Words each, Sample sample,
                           std::function<bool(const Json&)> read, std::function<bool()> is_empty) {
  Field& field = add(key, std::move(meaning), [sample = std::move(sample), each = std::move(each)] {
    return Json{{"type", "array"}, {"items", sample()->schema(each.text())}};
  });
  field.read_ = std::move(read);
  field.write_ = [is_empty = std::move(is_empty)](Json& json) {
    if (is_empty()) json = Json::array();
    return is_empty();
  };
  return field;
}

bool Fields::for_each(const Json& list, const std::function<bool(const Json&)>& read) {
  return list.is_array() && std::all_of(list.begin(), list.end(), read);
}

Field& Fields::add_forms(std::string_view key, RawValue& value, Words meaning, std::size_t count,
                         std::function<void(std::size_t, Json&)> form) {
  return raw(key, value, [meaning = std::move(meaning), count, form = std::move(form)] {
    Json forms = Json::array();
    for (std::size_t i = 0; i < count; ++i) form(i, forms.emplace_back());
    return Json{{"oneOf", std::move(forms)}, {"description", meaning.text()}};
  });
}

Field& Fields::plugin_of(const char* kind, std::string_view key, RawValue& value, std::string_view otherwise,
                         Words meaning) {
  value = RawValue(Json{{"name", otherwise}});
  return raw(key, value, [kind, meaning = std::move(meaning)] {
    return Json{{"type", "object"}, {"x-plugin", kind}, {"description", meaning.text()}};
  });
}

Field& Fields::raw(std::string_view key, RawValue& value, std::function<Json()> schema) {
  Field& field = add(key, "", std::move(schema));
  field.read_ = [&value](const Json& json) {
    value = RawValue(json);
    return true;
  };
  field.write_ = [&value](Json& json) {
    if (value.present()) json = value.json();
    return value.present();
  };
  return field;
}

Field& Fields::raw(std::string_view key, RawValue& value, const Json& schema) {
  return raw(key, value, [schema] { return schema; });
}

Json Fields::schema(const std::string& meaning) const {
  Json properties = Json::object(), required = Json::array();
  for (const Field& field : all_) {
    properties[field.key_] = field.described();
    if (field.required_) required.push_back(field.key_);
  }
  Json schema = {{"type", "object"},
                 {"description", meaning},
                 {"properties", std::move(properties)},
                 {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

bool Fields::set(const Json& object) const {
  if (!object.is_object()) return false;
  for (const auto& member : object.items()) {
    const auto known = [&member](const Field& field) { return field.key_ == member.key(); };
    if (member.key() != "name" && std::none_of(all_.begin(), all_.end(), known)) return false;
  }
  return std::all_of(all_.begin(), all_.end(), [&object](const Field& field) {
    const auto found = object.find(field.key_);
    return found == object.end() ? !field.required_ : field.read_(*found);
  });
}

void Fields::read(const Json& object) const {
  if (set(object)) return;
  const Json schema = this->schema("");
  Json wrong = object;
  if (wrong.is_object() && !schema["properties"].contains("name")) wrong.erase("name");
  const std::vector<Explanation> found = complete(schema, wrong);
  CHECK(!found.empty(), "what cannot be read is wrong by its schema");
  throw ParameterError(found.front().pointer, found.front().problem, found.front().remedy);
}

void Fields::take(Json& object) const {
  Json taken = Json::object();
  for (const Field& field : all_) {
    const auto found = object.find(field.key_);
    if (found == object.end()) continue;
    taken[field.key_] = std::move(*found);
    object.erase(found);
  }
  read(taken);
}

void Fields::write_missing(Json& object) const {
  if (!object.is_object()) object = Json::object();
  for (const Field& field : all_) {
    const auto present = object.find(field.key_);
    if (present == object.end()) {
      if (Json value; field.write_(value)) object[field.key_] = std::move(value);
    } else if (field.is_object_) {
      field.write_(*present);
    }
  }
}

}  // namespace simsgd

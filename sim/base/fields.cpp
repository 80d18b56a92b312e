#include "sim/base/fields.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"

namespace simsgd {

using fields::below;

Fields::~Fields() = default;
Fields::Fields(Fields&&) noexcept = default;

Field& Fields::add(std::string_view key, Json schema, std::string_view meaning) {
  Field& field = all_.emplace_back();
  field.key_ = key;
  if (only_reads()) return field;
  field.schema_ = std::make_unique<Json>(std::move(schema));
  return field.describe("description", meaning);
}

Field& Fields::add_object(std::string_view key, std::shared_ptr<Fields> inner, std::string_view meaning) {
  Json schema = only_reads() ? Json::object() : inner->schema(meaning);
  bool complete = !schema.contains("required"), has_default = false;
  if (!only_reads())
    for (const Json& property : schema["properties"])
      has_default = has_default || property.contains("default");
  Field& field = add(key, std::move(schema), meaning);
  if (complete && has_default) field.describe("default", Json::object());
  field.read_ = [inner, &field](const Json& json) { below(field.key_, [&] { inner->read(json); }); };
  field.write_ = [inner, complete, has_default](Json& json) {
    if (!json.is_object()) json = Json::object();
    inner->write_missing(json);
    return complete && (has_default || !json.empty());
  };
  return field;
}

Field& Fields::add_optional_object(std::string_view key, const Fields& sample, std::string_view meaning,
                                   std::function<void(const Json&)> read, std::function<bool(Json&)> write) {
  Field& field = add(key, only_reads() ? Json::object() : sample.schema(meaning), meaning);
  field.read_ = [read = std::move(read), &field](const Json& json) {
    below(field.key_, [&] { read(json); });
  };
  field.write_ = std::move(write);
  return field;
}

Field& Fields::add_objects(std::string_view key, const Fields& sample, std::string_view meaning,
                           std::string_view each, std::function<void(const Json&)> read,
                           std::function<std::size_t()> count) {
  Field& field =
      add(key,
          only_reads() ? Json::object()
                       : Json{{"type", "array"}, {"items", sample.schema(each)}, {"default", Json::array()}},
          meaning);
  field.read_ = [read = std::move(read), &field](const Json& json) {
    below(field.key_, [&] { read(json); });
  };
  field.write_ = [count = std::move(count)](Json& json) {
    if (count() == 0) json = Json::array();
    return count() == 0;
  };
  return field;
}

Field& Fields::add_forms(std::string_view key, RawValue& value, std::string_view meaning, std::size_t count,
                         const std::function<void(std::size_t, Json&)>& form) {
  Json forms = Json::array();
  for (std::size_t i = 0; i < count && !only_reads(); ++i) form(i, forms.emplace_back());
  if (only_reads()) return raw(key, value, Json::object());
  return raw(key, value, {{"oneOf", std::move(forms)}, {"description", meaning}});
}

Field& Fields::plugin_of(std::string_view kind, std::string_view key, RawValue& value,
                         std::string_view otherwise, std::string_view meaning) {
  value = RawValue(Json{{"name", otherwise}});
  if (only_reads()) return raw(key, value, Json::object());
  return raw(key, value, {{"type", "object"}, {"x-plugin", kind}, {"description", meaning}});
}

Field& Fields::raw(std::string_view key, RawValue& value, const Json& schema) {
  Field& field = add(key, schema, only_reads() ? "" : schema.value("description", ""));
  field.write_ = [&value](Json& json) {
    if (value.present()) json = value.json();
    return value.present();
  };
  give_default(field);
  field.read_ = [&value](const Json& json) { value = RawValue(json); };
  return field;
}

void Fields::give_default(Field& field) {
  if (Json otherwise; field.schema_ && field.write_(otherwise)) field.describe("default", otherwise);
}

Json Fields::schema(std::string_view meaning) const {
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

void Fields::reject_unknown(const Json& object) const {
  for (const auto& member : object.items()) {
    const auto known = [&member](const Field& field) { return field.key_ == member.key(); };
    if (std::any_of(all_.begin(), all_.end(), known) || member.key() == "name") continue;
    std::vector<std::string> keys;
    for (const Field& field : all_) keys.push_back(field.key_);
    const std::string guess = nearest(member.key(), keys);
    reject(member.key(), "is not a key here",
           (guess.empty() ? "" : "Did you mean \"" + guess + "\"? ") + "Valid are " + one_of(keys));
  }
}

void Fields::read(const Json& object) const {
  reject_unknown(object);
  for (const Field& field : all_) {
    const auto found = object.find(field.key_);
    if (found != object.end())
      field.read_(*found);
    else if (field.required_)
      reject(field.key_, "is missing", "Give a value for it");
  }
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
  for (const Field& field : all_) {
    const bool present = object.contains(field.key_);
    if (present && field.schema_ && field.schema_->contains("properties")) field.write_(object[field.key_]);
    if (present) continue;
    if (Json value; field.write_(value)) object[field.key_] = std::move(value);
  }
}

void Fields::read_each(const Json& list, const std::function<void(std::size_t, const Json&)>& read) {
  for (std::size_t i = 0; i < list.size(); ++i) below(fmt::format("{}", i), [&] { read(i, list[i]); });
}

void Fields::without_default(Field& field) {
  if (field.schema_) field.schema_->erase("default");
  field.write_ = [](Json&) { return false; };
}

void Fields::set_reader(Field& field, std::function<void(const Json&)> read) {
  field.read_ = [read = std::move(read), &field](const Json& json) {
    below(field.key_, [&] { read(json); });
  };
}

void Fields::clear_to_empty_object(Json& json) {
  if (!json.is_object()) json = Json::object();
}

void Fields::make_optional(Field& field, std::function<void()> after, std::function<bool()> before) {
  if (field.schema_) field.schema_->erase("default");
  field.read_ = [read = std::move(field.read_), after = std::move(after)](const Json& json) {
    read(json);
    after();
  };
  field.write_ = [write = std::move(field.write_), before = std::move(before)](Json& json) {
    return before() && write(json);
  };
}

}  // namespace simsgd

#include "cli/list_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

bool is_place(const std::string& token) {
  return token == "-" || token == "*" ||
         (!token.empty() &&
          std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

/// As the reference writes it: "/stragglers/*/mean" of "stragglers/0/mean".
std::string reference_pointer(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  if (text.empty()) return "";
  if (!text.starts_with('/')) text = "/" + text;
  std::string pointer;
  for (const std::string& token : tokens(text)) pointer = child(pointer, is_place(token) ? "*" : token);
  return pointer;
}

struct FoundKey {
  const ReferenceKey* key;
  const ReferenceObject* object;
};

/// A key may be there once for each plug-in that has it.
std::vector<FoundKey> keys_at(const std::string& pointer) {
  std::vector<FoundKey> found;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys)
      if (key.pointer == pointer) found.push_back({&key, &object});
  return found;
}

std::vector<const ReferenceObject*> objects_at(const std::string& pointer) {
  std::vector<const ReferenceObject*> found;
  for (const ReferenceObject& object : reference())
    if (object.pointer == pointer || object.pointer == child(pointer, "*")) found.push_back(&object);
  return found;
}

/// As people write it: "stragglers/0/mean".
std::string written(const std::string& pointer) {
  std::string text;
  for (const std::string& token : tokens(pointer))
    text += (text.empty() ? "" : "/") + (token == "*" ? "0" : token);
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// "of wagma", "of graph torus of d_psgd, sgp"; empty outside of plug-ins.
std::string owner(const ReferenceObject& object) {
  std::string text = object.plugin.empty() ? "" : " of " + object.plugin;
  if (!object.of.empty()) text += " of " + names_text(object.of);
  return text;
}

std::string otherwise(const ReferenceKey& key) {
  if (key.required) return "required";
  if (!key.rule.empty()) return "default: " + key.rule;
  return key.default_value.empty() ? "may be left out" : "default " + key.default_value;
}

std::string with_unit(const ReferenceKey& key) {
  return key.unit.empty() ? key.type : fmt::format("{}, in {}", key.type, key.unit);
}

void print_key(const FoundKey& found) {
  const ReferenceKey& key = *found.key;
  fmt::print("{}{}\n  {}\n", key.pointer, owner(*found.object), key.meaning);
  fmt::print("  Type: {}\n", with_unit(key));
  if (!key.range.empty()) fmt::print("  Range: {}\n", key.range);
  if (key.required)
    fmt::print("  Required\n");
  else
    fmt::print("  By default: {}\n", !key.rule.empty()           ? key.rule
                                     : key.default_value.empty() ? "none"
                                                                 : key.default_value);
  fmt::print("  Example: {}\n", key.example);
  if (!key.source.empty()) fmt::print("  Source: {}\n", key.source);
}

/// `told`: whether what the object is has been said, of the key that holds it.
void print_object(const ReferenceObject& object, bool told) {
  const std::string pointer = object.pointer.empty() ? "/" : object.pointer;
  if (!told) fmt::print("{}{}\n  {}\n", pointer, owner(object), object.meaning);
  if (!object.source.empty()) fmt::print("  Source: {}\n", object.source);
  if (!object.keys.empty()) fmt::print("  Keys:\n");
  for (const ReferenceKey& key : object.keys)
    fmt::print("    {} ({}{}{}; {}): {}\n", last_key(key.pointer), with_unit(key),
               key.range.empty() ? "" : ", ", key.range, otherwise(key), key.meaning);
}

void add_owner(Json& json, const ReferenceObject& object) {
  if (!object.plugin.empty()) json["plugin"] = object.plugin;
  if (!object.of.empty()) json["of"] = object.of;
}

Json object_json(const ReferenceObject& object) {
  Json json = {{"pointer", object.pointer}, {"meaning", object.meaning}, {"keys", Json::array()}};
  add_owner(json, object);
  if (!object.source.empty()) json["source"] = object.source;
  for (const ReferenceKey& key : object.keys) json["keys"].push_back(to_json(key));
  return json;
}

}  // namespace

Json key_json(const std::string& text) {
  const std::string pointer = reference_pointer(text);
  Json all = Json::array();
  for (const FoundKey& found : keys_at(pointer))
    add_owner(all.emplace_back(to_json(*found.key)), *found.object);
  for (const ReferenceObject* object : objects_at(pointer)) all.push_back(object_json(*object));
  return all;
}

bool list_key(const std::string& text, bool json) {
  const std::string pointer = reference_pointer(text);
  const std::vector<FoundKey> keys = keys_at(pointer);
  const std::vector<const ReferenceObject*> objects = objects_at(pointer);
  if (keys.empty() && objects.empty()) return false;
  if (json) {
    fmt::print("{}\n", key_json(text).dump(2));
    return true;
  }
  for (const FoundKey& found : keys) print_key(found);
  for (const ReferenceObject* object : objects)
    print_object(*object,
                 keys.size() == 1 && object == objects.front() && object->meaning == keys[0].key->meaning);
  return true;
}

std::vector<std::string> key_names() {
  std::set<std::string> names;
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys) names.insert(written(key.pointer));
  return {names.begin(), names.end()};
}

std::vector<std::string> keys_like(const std::string& text) {
  std::vector<std::string> last;
  for (const std::string& name : key_names()) last.push_back(last_key(name));
  const std::string near = nearest(text, last);
  std::vector<std::string> found;
  for (const std::string& name : key_names())
    if (!near.empty() && last_key(name) == near) found.push_back(name);
  return found;
}

}  // namespace simsgd

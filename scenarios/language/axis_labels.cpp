#include "scenarios/language/axis_labels.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace simsgd {

namespace {

using Shows = std::function<bool(const std::string& key)>;

std::string name_of(const Json& object) {
  std::string name;
  for (const char* key : {"use", "name"})
    if (object.contains(key) && object[key].is_string()) name = object[key].get<std::string>();
  return name;
}

std::string text_of(const Json& value);

/// "key value, key value" of the keys that are shown.
std::string members_of(const Json& object, const Shows& shows) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    if (key == "name" || key == "use" || !shows(key)) continue;
    text += (text.empty() ? "" : ", ") + key;
    const bool nested = value.is_structured() && text_of(value) != value.dump() &&
                        text_of(value).find(' ') != std::string::npos;
    text += nested ? " (" + text_of(value) + ")" : " " + text_of(value);
  }
  return text;
}

std::string object_text(const Json& object, const Shows& shows) {
  if (object.empty()) return "default";
  const std::string name = name_of(object), members = members_of(object, shows);
  if (name.empty()) return members;
  return text_of(name) + (members.empty() ? "" : " (" + members + ")");
}

std::string text_of(const Json& value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return text.ends_with(".json") ? std::filesystem::path(text).stem().string() : text;
  }
  if (value.is_object()) return object_text(value, [](const std::string&) { return true; });
  if (!value.is_array()) return value.dump();
  if (value.empty()) return "none";
  const bool plain =
      std::none_of(value.begin(), value.end(), [](const Json& each) { return each.is_structured(); });
  if (plain) return value.dump();
  std::string text;
  for (const Json& each : value) text += (text.empty() ? "" : " + ") + text_of(each);
  return text;
}

Json value_or_null(const Json& object, const std::string& key) {
  return object.contains(key) ? object[key] : Json();
}

}  // namespace

std::string axis_label(const std::string& pointer) {
  std::string key = pointer.empty() ? "" : pointer.substr(1);
  for (const std::string ending : {"/use", "/name"})
    if (key.ends_with(ending)) key.resize(key.size() - ending.size());
  return key;
}

std::string value_label(const Json& value) { return text_of(value); }

std::map<std::string, std::string> value_labels(const std::map<std::string, const Json*>& values) {
  std::map<std::string, std::vector<const Json*>> of_name;
  for (const auto& each : values)
    if (each.second->is_object()) of_name[name_of(*each.second)].push_back(each.second);
  std::map<std::string, std::string> labels;
  for (const auto& each : values) {  // clang 14 captures no structured binding
    const std::string& json = each.first;
    const Json* const value = each.second;
    if (!value->is_object() || name_of(*value).empty()) {
      labels[json] = text_of(*value);
      continue;
    }
    const std::vector<const Json*>& namesakes = of_name[name_of(*value)];
    labels[json] = object_text(*value, [&](const std::string& key) {
      return std::any_of(namesakes.begin(), namesakes.end(), [&](const Json* other) {
        return value_or_null(*other, key) != value_or_null(*value, key);
      });
    });
  }
  return labels;
}

}  // namespace simsgd

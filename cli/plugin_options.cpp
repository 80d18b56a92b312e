#include "cli/plugin_options.hpp"

#include <algorithm>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

/// A value is JSON where it parses, else text.
void set_option(const std::string& kind, const PluginInfo& info, const Json& form, const std::string& text,
                Json& object) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals).substr(text.starts_with("/") ? 1 : 0);
  std::vector<std::string> known;
  for (const auto& property : form["properties"].items())
    if (property.key() != "name") known.push_back(property.key());
  if (equals == std::string::npos || std::find(known.begin(), known.end(), key) == known.end())
    throw ConfigError(
        InputError{"--set", "", "sets no parameter of the " + kind + " \"" + info.name + "\"", text,
                   known.empty() ? "It has none" : "Write /key=value, where the key is " + one_of(known)});
  const std::string value = text.substr(equals + 1);
  const Json json = Json::parse(value, nullptr, false);
  object[key] = json.is_discarded() ? Json(value) : json;
}

}  // namespace

Json object_of(const std::string& kind, const PluginInfo& info, const Json& form,
               const std::vector<std::string>& set, Missing missing) {
  Json object = {{"name", info.name}};
  for (const std::string& each : set) set_option(kind, info, form, each, object);
  for (const Json& key : form["required"])
    if (missing == Missing::refused && !object.contains(key))
      throw ConfigError(InputError{"--set", "", "is missing for the " + kind + " \"" + info.name + "\"", "",
                                   "Write --set /" + key.get<std::string>() + "=VALUE"});
  return object;
}

}  // namespace simsgd

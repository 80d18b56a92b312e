// A plug-in's object as a scenario would write it, from options of the command line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/plugin.hpp"

namespace simsgd {

/// Whether what a plug-in requires may be left out, because a file gives it.
enum class Missing : bool { refused, allowed };

/// Each of `set` is "/key=value". Throws ConfigError for a key that `form` does not have, and where a
/// required one is missing. `kind`: what messages call it, such as "graph".
Json object_of(const std::string& kind, const PluginInfo& info, const Json& form,
               const std::vector<std::string>& set, Missing missing = Missing::refused);

template <class P>
Json object_of(const std::string& kind, const P& plugin, const std::vector<std::string>& set,
               Missing missing = Missing::refused) {
  Json form;
  plugin.form(form);
  return object_of(kind, plugin.info, form, set, missing);
}

}  // namespace simsgd

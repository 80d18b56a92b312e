#include "sim/plugin.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/base/errors.hpp"

namespace simsgd {

void write_form(const PluginInfo& info, const Fields& fields, Json& form) {
  form = fields.schema(info.summary);
  form["properties"]["name"] = {{"type", "string"}, {"const", info.name}, {"description", info.summary}};
  Json required = {"name"};
  for (const Json& key : form.value("required", Json::array())) required.push_back(key);
  form["required"] = std::move(required);
  form["title"] = info.name;
  if (!info.citation.empty()) form["$comment"] = info.citation;
}

void reject_name(const std::string& name, const std::string& kind, const std::vector<std::string>& names) {
  const std::string guess = nearest(name, names);
  const bool vowel = std::string_view("aeiou").find(kind.front()) != std::string_view::npos;
  reject("name", (vowel ? "is not an " : "is not a ") + kind,
         (guess.empty() ? "" : "Did you mean \"" + guess + "\"? ") + "Choose " + one_of(names));
}

}  // namespace simsgd

#include "sim/cluster/stragglers/registry.hpp"

#include <nlohmann/json.hpp>

#include "sim/cluster/stragglers/options.hpp"

namespace simsgd {

namespace {

/// Moves the common options from an object to one of their own.
Json taken_common(Json& object) {
  StragglerCommon common;
  Fields fields(DrawUnit::seconds, Fields::Purpose::read);
  common.fields(fields);
  Json taken = Json::object();
  const Json known = fields.schema("")["properties"];
  for (const auto& property : known.items()) {
    if (!object.contains(property.key())) continue;
    taken[property.key()] = std::move(object[property.key()]);
    object.erase(property.key());
  }
  return taken;
}

}  // namespace

void StragglerPlugin::form(Json& form) const {
  Plugin::form(form);
  StragglerCommon common;
  Fields fields;
  common.fields(fields);
  form["properties"].update(fields.schema("")["properties"]);
}

MadeStraggler make_straggler(const Json& object, const StragglerSetup& setup) {
  if (!object.contains("name")) reject("name", "is missing", "Give a value for it");
  const StragglerPlugin& plugin =
      find_plugin(straggler_plugins(), object["name"].get<std::string>(), "kind of straggler");
  Json own = object;
  const auto common = options_of<StragglerCommon>(taken_common(own));
  return with_common_options(plugin.make(own, common, setup), common, setup);
}

}  // namespace simsgd

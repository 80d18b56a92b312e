#include "sim/base/distribution_json.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

std::string did_you_mean(const std::string& name, const std::vector<std::string>& valid) {
  const std::string guess = nearest(name, valid);
  return (guess.empty() ? "" : "Did you mean \"" + guess + "\"? ") + "Valid are " + one_of(valid);
}

const DistributionPlugin* find(const std::string& name) {
  const auto& all = distribution_plugins();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const DistributionPlugin& each : distribution_plugins()) names.push_back(each.name);
  return names;
}

void reject_unknown_keys(const Parameters& parameters, const Json& properties) {
  std::vector<std::string> valid = {"name"};
  for (const auto& [key, unused] : properties.items()) valid.push_back(key);
  for (const auto& [key, unused] : parameters.json().items())
    if (std::find(valid.begin(), valid.end(), key) == valid.end())
      Parameters::reject(key, "is no parameter of this distribution", did_you_mean(key, valid));
}

Distribution make_named(const Parameters& parameters, DrawUnit unit) {
  const Json name = parameters.json().value("name", Json());
  const std::string choose = "Name a distribution: " + one_of(all_names());
  if (!name.is_string()) Parameters::reject("name", name.is_null() ? "is missing" : "is not a name", choose);
  const DistributionPlugin* plugin = find(name.get<std::string>());
  if (plugin == nullptr)
    Parameters::reject("name", "is no distribution", did_you_mean(name.get<std::string>(), all_names()));
  reject_unknown_keys(parameters, plugin->properties(unit));
  return plugin->make(parameters, unit);
}

}  // namespace

const DistributionPlugin& distribution_plugin(const std::string& name) {
  const DistributionPlugin* plugin = find(name);
  CHECK(plugin != nullptr, "\"" + name + "\" is no distribution");
  return *plugin;
}

double read_amount(const Parameters& parameters, const std::string& key, DrawUnit unit) {
  const bool is_number = parameters.has(key) && parameters.json().at(key).is_number();
  if (unit != DrawUnit::seconds && parameters.has(key) && !is_number) {
    if (unit == DrawUnit::factor)
      Parameters::reject(key, "is not a plain number", "Give a factor without a unit, such as 1.5");
    Parameters::reject(key, "is not a plain number, but \"relative\" asks for multiples of the compute time",
                       "Give a number without a unit, such as 0.5, or leave \"relative\" out");
  }
  const double amount = parameters.quantity(key, Dimension::time_s);
  if (!(amount >= 0)) Parameters::reject(key, "is below 0", "Give 0 or more");
  return amount;
}

Json amount_schema(DrawUnit unit, const std::string& description) {
  Json schema = unit == DrawUnit::seconds ? quantity("time", description)
                                          : Json{{"type", "number"}, {"description", description}};
  schema["minimum"] = 0;
  return schema;
}

Distribution nested_distribution(const Parameters& parameters, const std::string& key, DrawUnit unit) {
  if (!parameters.has(key) || !parameters.json().at(key).is_object())
    return {Distribution::Kind::constant, 0, read_amount(parameters, key, unit), 1, {}, {}};
  try {
    return make_named(parameters.object(key), unit);
  } catch (const ParameterError& error) {
    throw ParameterError("/" + key + error.key, error.problem, error.remedy);
  }
}

Json nested_distribution_schema(DrawUnit unit, const std::string& description) {
  Json forms = Json::array({amount_schema(unit, "The same value in every draw")});
  for (const DistributionPlugin& each : distribution_plugins()) {
    std::vector<std::string> required = each.required;
    required.insert(required.begin(), "name");
    Json properties = each.properties(unit);
    properties["name"] = {{"type", "string"}, {"const", each.name}, {"description", each.summary}};
    forms.push_back({{"type", "object"},
                     {"title", each.name},
                     {"description", each.summary},
                     {"properties", std::move(properties)},
                     {"required", std::move(required)},
                     {"additionalProperties", false}});
  }
  return {{"description", description}, {"oneOf", std::move(forms)}};
}

}  // namespace simsgd

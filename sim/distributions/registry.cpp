#include "sim/distributions/registry.hpp"

#include <nlohmann/json.hpp>

namespace simsgd {

namespace {

/// The same in every draw.
struct ConstantDraw {
  double value = 0;
  void fields(Fields& f) { f.amount("value", value, "The same value in every draw").required(); }
};

Distribution named_distribution(const Json& object, DrawUnit unit) {
  const auto name = object.find("name");
  if (name == object.end()) reject("name", "is missing", "Name a distribution, such as \"exponential\"");
  if (!name->is_string()) reject("name", "is not a name", "Name a distribution, such as \"exponential\"");
  return find_plugin(distribution_plugins(), name->get<std::string>(), "distribution").make(object, unit);
}

}  // namespace

Json draw_schema(DrawUnit unit, std::string_view meaning) {
  ConstantDraw constant;
  Fields fields(unit);
  constant.fields(fields);
  Json forms = Json::array({fields.schema("")["properties"]["value"]});
  for (const DistributionPlugin& each : distribution_plugins()) each.form(forms.emplace_back(), unit);
  return {{"description", meaning}, {"oneOf", std::move(forms)}};
}

Field& add_draw(Fields& fields, std::string_view key, RawValue& value, const char* meaning, DrawUnit unit) {
  return fields.raw(key, value, [unit, meaning] { return draw_schema(unit, meaning); });
}

Distribution draw_of(const Json& value, const std::string& key, DrawUnit unit) {
  if (!value.is_object()) {
    Fields fields(unit);
    Distribution constant;
    fields.amount(key, constant.scale, "");
    fields.read({{key, value}});
    return constant;
  }
  try {
    return named_distribution(value, unit);
  } catch (const ParameterError& error) {
    throw ParameterError("/" + key + error.key, error.problem, error.remedy);
  }
}

}  // namespace simsgd

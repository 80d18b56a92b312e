// The keys of a scenario that are no settings of the run: "expected", and a study's "axes" and "seeds". Who
// reads them (results/expected.hpp, axes.hpp, study.hpp) looks at the JSON itself.
#include <nlohmann/json.hpp>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::schema {

namespace {

Json integer(const std::string& description, std::int64_t minimum, std::int64_t maximum) {
  return {{"type", "integer"}, {"minimum", minimum}, {"maximum", maximum}, {"description", description}};
}

Json text(const std::string& description) { return {{"type", "string"}, {"description", description}}; }

Json object(const std::string& description, Json properties, const std::vector<std::string>& required) {
  return {{"type", "object"},
          {"description", description},
          {"properties", std::move(properties)},
          {"required", required},
          {"additionalProperties", false}};
}

Json pointer_text() { return text("JSON pointer to what varies, such as \"/cluster/workers\""); }

Json with_pointer(const std::string& description, const std::string& key, Json values) {
  return object(description, {{"pointer", pointer_text()}, {key, std::move(values)}}, {"pointer", key});
}

std::vector<Json> simple_axes() {
  const Json bound = {{"type", {"number", "string"}}, {"description", "A number, or text with a unit"}};
  Json values = list("The values, one after another", {{"description", "Any value"}});
  values["minItems"] = 1;
  return {with_pointer("A list of values", "values", std::move(values)),
          with_pointer(
              "Equal ratios", "log_range",
              object("Equal ratios between two bounds, both included; whole numbers stay whole",
                     {{"from", bound}, {"to", bound}, {"points", integer("How many values", 2, kMostPoints)}},
                     {"from", "to", "points"})),
          with_pointer("Equal steps", "range",
                       object("Equal steps from one bound to the other, which is included where it is hit",
                              {{"from", bound}, {"to", bound}, {"step", bound}}, {"from", "to", "step"}))};
}

}  // namespace

Json expected() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) names.push_back(metric.name);
  Json when = {
      {"type", "object"},
      {"description", "Only where these pointers have these values, such as {\"/cluster/workers\": 8}"}};
  return with_default(list("Measured values to compare the simulation with",
                           object("A measured value",
                                  {{"metric", choice("Name of a metric", names)},
                                   {"value", {{"type", "number"}, {"description", "As measured, in SI"}}},
                                   {"tolerance",
                                    {{"type", "number"},
                                     {"minimum", 0},
                                     {"description", "Greatest relative deviation that still agrees"}}},
                                   {"source", text("Who measured it, and where it is printed")},
                                   {"when", std::move(when)}},
                                  {"metric", "value", "tolerance", "source"})),
                      Json::array());
}

Json axes() {
  std::vector<Json> forms = simple_axes();
  Json zipped = list("Axes of equal length that vary together", either("An axis", forms));
  zipped["minItems"] = 1;
  forms.push_back(object("Axes that vary together", {{"zip", std::move(zipped)}}, {"zip"}));
  return list("What a study varies; the points are all combinations, the last axis fastest",
              either("An axis", forms));
}

Json seeds() {
  Json numbers = list("The seeds", integer("A seed", 0, std::int64_t{1} << 53));
  numbers["minItems"] = 1;
  numbers["uniqueItems"] = true;
  return either("Seeds of a study: each point runs with each of them",
                {integer("How many: 1, 2, ...", 1, kMostPoints), std::move(numbers)});
}

}  // namespace simsgd::schema

// The printed schema.
#include "scenarios/language/schema.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/scenarios/violations.hpp"
#include "topologies/topology.hpp"

namespace simsgd::test::scenarios_schema {

namespace {

/// Pointers of properties without a description.
void undescribed(const Json& node, const std::string& pointer, std::vector<std::string>& all) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("properties") && !node.contains("if") && !pointer.ends_with("/if"))
    for (const auto& property : node["properties"].items())
      if (property.value().value("description", "").empty() && property.value() != Json::object())
        all.push_back(pointer + "/properties/" + property.key());
  for (const auto& part : node.items())
    if (part.key() != "default") undescribed(part.value(), pointer + "/" + part.key(), all);
}

}  // namespace

TEST_CASE("the schema is draft 7 and strict, and every key is described") {
  const Json schema = file_schema("scenario");
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  CHECK(schema["additionalProperties"] == false);
  std::vector<std::string> missing;
  undescribed(schema, "", missing);
  for (const std::string& pointer : missing) FAIL_CHECK(pointer);
}

TEST_CASE("every plug-in is in the schema by its name") {
  const auto names = [](const Json& section) {
    std::vector<std::string> all;
    for (const Json& form : section["oneOf"])
      if (form["properties"].contains("name"))
        all.push_back(form["properties"]["name"]["const"].get<std::string>());
    return all;
  };
  std::vector<std::string> algorithms, topologies;
  for (const AlgorithmPlugin& each : algorithm_plugins()) algorithms.push_back(each.info.name);
  algorithms.emplace_back("python");  // a method that the scenario itself has
  for (const TopologyPlugin& each : topology_plugins()) topologies.push_back(each.info.name);
  const Json properties = file_schema("scenario")["properties"];
  CHECK(names(properties["algorithm"]) == algorithms);
  CHECK(names(properties["cluster"]["properties"]["topology"]) == topologies);
}

TEST_CASE("the printed schema tells right from wrong by itself") {
  const Json schema = editor_schema("scenario");
  CHECK(violations(schema, small_scenario()).empty());
  Json uses = small_scenario();
  uses["cluster"] = {{"use", "clusters/x.json"}, {"workers", 4}};
  CHECK(violations(schema, uses).empty());
  uses["algorithm"] = {{"use", "a.json"}};
  uses["optimizer"] = {{"use", "o.json"}, {"name", "sgd"}, {"momentum", 0.9}};
  CHECK(violations(schema, uses).empty());
  Json wrong = small_scenario();
  wrong["cluster"]["topology"]["spine"] = 4;
  CHECK(!violations(schema, wrong).empty());
  wrong = small_scenario();
  wrong["cluster"].erase("nic");
  CHECK(!violations(schema, wrong).empty());
}

TEST_CASE("a sound scenario has no violations of the resolved schema either") {
  CHECK(violations(resolved_schema(), load(small_scenario()).resolved).empty());
}

}  // namespace simsgd::test::scenarios_schema

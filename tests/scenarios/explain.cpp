// What is wrong with a value by its schema, in order.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/base/explain.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_explain {

namespace {

std::vector<Explanation> explain(const Json& schema, Json value) { return complete(schema, value); }

}  // namespace

TEST_CASE("a list that is too long, a bound from above, and a constant") {
  const Json list = {{"type", "array"}, {"maxItems", 1}};
  REQUIRE(explain(list, {1, 2}).size() == 1);
  CHECK(explain(list, {1, 2})[0].problem == "is too long");
  CHECK(explain(list, {1, 2})[0].remedy == "Give at most 1 element");
  CHECK(wanted({{"type", "number"}, {"exclusiveMaximum", 3}}) == "a number below 3");
  CHECK(wanted({{"type", {"number", "null"}}}) == "a number or null");
}

TEST_CASE(
    "what is wrong inside an object is told before what is wrong with the object, by the order of keys") {
  const Json schema = {
      {"type", "object"},
      {"properties", {{"a", {{"type", "integer"}}}, {"b", {{"type", "string"}, {"minLength", 1}}}}},
      {"required", {"c"}},
      {"additionalProperties", false}};
  const std::vector<Explanation> all = explain(schema, {{"a", "x"}, {"b", ""}, {"other", 1}});
  std::string told;
  for (const Explanation& each : all) told += each.pointer + " " + each.problem + ". " + each.remedy + "\n";
  CHECK(told ==
        "/a has the wrong type. Write a whole number\n"
        "/b is too short. Write at least 1 character\n"
        "/other is an unknown key. Valid keys here: a, b\n"
        " lacks the key \"c\". Add \"c\"\n");
}

TEST_CASE("values of keys that anybody may choose are looked at too") {
  const Json schema = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  REQUIRE(explain(schema, {{"x", 5}, {"y", "text"}}).size() == 1);
  CHECK(explain(schema, {{"x", 5}, {"y", "text"}})[0].pointer == "/x");
}

TEST_CASE("long values are cut") {
  const std::string errors = errors_with("/network/fidelity", std::string(200, 'x'));
  CHECK(errors.find("Found: \"" + std::string(76, 'x') + "....") != std::string::npos);
}

}  // namespace simsgd::test::scenarios_explain

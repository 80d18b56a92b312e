// The reference of keys: that it is all of the schema, and says what the schema says.
#include "scenarios/language/reference.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/schema.hpp"
#include "tests/scenarios/violations.hpp"

namespace simsgd::test::scenarios_reference {

namespace {

/// Every property of a schema, with its pointer.
void each_key(const Json& node, const std::string& pointer,
              const std::function<void(const std::string&, const Json&)>& see) {
  for (const Json& form : node.value("oneOf", Json::array())) each_key(form, pointer, see);
  if (node.contains("items")) each_key(node["items"], child(pointer, "*"), see);
  const Json properties = node.value("properties", Json::object());
  for (const auto& property : properties.items()) {
    see(child(pointer, property.key()), property.value());
    each_key(property.value(), child(pointer, property.key()), see);
  }
}

const ReferenceKey& key_at(const std::string& pointer, const std::string& plugin = "") {
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys)
      if (key.pointer == pointer && object.plugin == plugin) return key;
  FAIL("no key " << pointer);
  static const ReferenceKey none;
  return none;
}

}  // namespace

TEST_CASE("the reference has the keys of the printed schema, but for `use` and $schema") {
  std::set<std::string> in_schema, in_reference;
  each_key(file_schema("scenario"), "", [&in_schema](const std::string& pointer, const Json&) {
    if (last_key(pointer) != "use" && last_key(pointer) != "$schema") in_schema.insert(pointer);
  });
  for (const ReferenceObject& object : reference())
    for (const ReferenceKey& key : object.keys) in_reference.insert(key.pointer);
  CHECK(in_schema == in_reference);
  CHECK(in_reference.size() > 200);
}

TEST_CASE("every key has type, meaning, and an example that its schema admits") {
  for (const ReferenceObject& object : reference()) {
    CAPTURE(object.pointer);
    CHECK(!object.meaning.empty());
    for (const ReferenceKey& key : object.keys) {
      CAPTURE(key.pointer);
      CHECK(!key.type.empty());
      CHECK(!key.meaning.empty());
    }
  }
  each_key(resolved_schema(), "", [](const std::string& pointer, const Json& schema) {
    const std::string example = example_text(schema);
    CAPTURE(pointer);
    CAPTURE(example);
    CHECK(violations(schema, Json::parse(example)).empty());
  });
}

TEST_CASE("type, unit, range, default and example in words") {
  const ReferenceKey& memory = key_at("/cluster/device/memory");
  CHECK(memory.type == "bytes");
  CHECK(memory.unit == "B");
  CHECK(memory.range == ">= 0");
  CHECK(memory.default_value == "0");
  CHECK(memory.example == "\"16 GB\"");
  const ReferenceKey& density = key_at("/algorithm/density", "gtopk");
  CHECK(density.range == "> 0, <= 1");
  CHECK(density.rule == "0.001, unless \"k\" is given");
  CHECK(density.default_value.empty());
  const ReferenceKey& fidelity = key_at("/network/fidelity");
  CHECK(fidelity.values ==
        std::vector<std::string>{"\"auto\"", "\"closed\"", "\"steps\"", "\"flows\"", "\"messages\""});
  CHECK(key_at("/network/jitter").type == "time or object by its name");
  CHECK(key_at("/cluster").required);
  CHECK(!key_at("/network").required);
  CHECK(key_at("/stragglers/*/name").type.starts_with("\"constant\" or \"uniform\" or "));
}

TEST_CASE("a key that several plug-ins share is there once, with all of them") {
  int found = 0;
  for (const ReferenceObject& object : reference()) {
    if (object.pointer != "/algorithm/graph" || object.plugin != "torus") continue;
    ++found;
    CHECK(object.of == std::vector<std::string>{"ad_psgd", "d_psgd", "matcha", "nonblocking", "python"});
  }
  CHECK(found == 1);
}

}  // namespace simsgd::test::scenarios_reference

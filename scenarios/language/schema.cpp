#include "scenarios/language/schema.hpp"

#include <algorithm>

#include "scenarios/language/provenance.hpp"
#include "scenarios/language/schema_parts.hpp"
#include "sim/base/limits.hpp"

namespace simsgd {

namespace {

Json composed() {
  return schema::object("A scenario: distributed training to be simulated",
                        {{"name", schema::text("What reports call it; by default the file's name")},
                         {"description", schema::with_default(schema::text("What it shows"), "")},
                         {"cluster", schema::cluster()},
                         {"workload", schema::workload()},
                         {"learner", schema::learner()},
                         {"optimizer", schema::optimizer()},
                         {"algorithm", schema::algorithm()},
                         {"stragglers", schema::stragglers()},
                         {"failures", schema::failures()},
                         {"network", schema::network()},
                         {"stop", schema::stop()},
                         {"target", schema::target()},
                         {"record", schema::record()},
                         {"seed", schema::with_default(schema::big_integer("Of all random numbers", 0), 1)},
                         {"expected", schema::expected()},
                         {"axes", schema::axes()},
                         {"seeds", schema::seeds()}},
                        {"cluster", "workload", "algorithm", "stop"});
}

double most_of(const Json& node) {
  const std::string dimension = node.value("x-quantity", "");
  if (dimension == "time") return kLongestTime_s;
  if (dimension == "bytes" || dimension == "bandwidth") return 1e18;
  if (dimension == "flop" || dimension == "flops") return 1e24;
  return kLargestNumber;
}

/// Numbers without an upper bound of their own get one: what is larger overflows on its way through a run.
void bound_numbers(Json& node) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("description") && !node.contains("maximum") &&
      !node.contains("exclusiveMaximum") &&
      (node.contains("x-quantity") || node.value("type", Json()) == "number"))
    node["maximum"] = most_of(node);
  for (const auto& part : node.items())
    if (part.key() != "default" && part.key() != "enum" && part.key() != "const" && part.key() != "expected")
      bound_numbers(part.value());
}

bool describes_object(const Json& node) {
  return node.is_object() && node.contains("properties") && node["properties"].is_object() &&
         node.value("additionalProperties", Json(true)) == Json(false);
}

/// A form of an object that is chosen by its name.
bool is_named(const Json& form) {
  return describes_object(form) && form["properties"].contains("name") &&
         form["properties"]["name"].contains("const");
}

Json use_property() {
  return schema::text("A file whose object is taken over; the other keys here change it, key by key");
}

/// What the required keys become where a file may bring them. The name that chooses a form stays required.
void relax_required(Json& object) {
  if (!object.contains("required")) return;
  Json kept = Json::array(), others = Json::array();
  for (const Json& key : object["required"])
    (is_named(object) && key == "name" ? kept : others).push_back(key);
  object.erase("required");
  if (!kept.empty()) object["required"] = std::move(kept);
  if (!others.empty()) object["anyOf"] = {{{"required", {"use"}}}, {{"required", std::move(others)}}};
}

/// The form of a plug-in's object whose name is in a file.
Json nameless_form() {
  return {{"type", "object"},
          {"description", "An object whose name is in a file"},
          {"properties", {{"use", use_property()}}},
          {"required", {"use"}},
          {"not", {{"required", {"name"}}}}};
}

/// Lets every object begin with the object of a file.
Json with_use(Json node) {
  if (!node.is_structured()) return node;
  for (auto& part : node.items())
    if (part.key() != "default" && part.key() != "enum" && part.key() != "const")
      part.value() = with_use(std::move(part.value()));
  if (node.is_object() && node.contains("oneOf") &&
      std::any_of(node["oneOf"].begin(), node["oneOf"].end(), is_named))
    node["oneOf"].push_back(nameless_form());
  if (!describes_object(node)) return node;
  node["properties"]["use"] = use_property();
  relax_required(node);
  return node;
}

void collect_choices(const Json& node, const std::string& pointer, std::set<std::string>& all) {
  const Json forms = node.value("oneOf", Json::array());
  for (const Json& form : forms) {
    const Json properties = form.value("properties", Json::object());
    if (properties.contains("name") && properties["name"].contains("const")) all.insert(pointer);
    collect_choices(form, pointer, all);
  }
  const Json properties = node.value("properties", Json::object());
  for (const auto& property : properties.items())
    collect_choices(property.value(), child(pointer, property.key()), all);
}

}  // namespace

const Json& resolved_schema() {
  static const Json schema = [] {
    Json all = composed();
    bound_numbers(all);
    return all;
  }();
  return schema;
}

Json scenario_schema() {
  Json all = with_use(resolved_schema());
  all["$schema"] = "http://json-schema.org/draft-07/schema#";
  all["title"] = "SimSGD scenario";
  all["properties"]["$schema"] = schema::text("Where an editor finds this schema; ignored");
  return all;
}

const std::set<std::string>& named_choices() {
  static const std::set<std::string> choices = [] {
    std::set<std::string> all;
    collect_choices(resolved_schema(), "", all);
    return all;
  }();
  return choices;
}

}  // namespace simsgd

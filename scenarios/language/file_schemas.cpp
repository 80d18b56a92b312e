// The schemas that editors complete from: the resolved one, with what only files have.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/schema.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {

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
  return {{"type", "string"},
          {"description", "A file whose object is taken over; the other keys here change it, key by key"}};
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

/// Beside forms that their names tell apart: of a name that none of them has, a validator then says which
/// there are, in place of what is wrong with each form.
void say_names(Json& choice) {
  Json names = Json::array();
  for (const Json& form : choice["oneOf"])
    if (is_named(form)) names.push_back(form["properties"]["name"]["const"]);
  choice["properties"]["name"] = {{"enum", std::move(names)}, {"description", "Which one it is"}};
}

/// Lets every object begin with the object of a file.
Json with_use(Json node) {
  if (!node.is_structured()) return node;
  for (auto& part : node.items())
    if (part.key() != "default" && part.key() != "enum" && part.key() != "const" && part.key() != "examples")
      part.value() = with_use(std::move(part.value()));
  if (node.is_object() && node.contains("oneOf") &&
      std::any_of(node["oneOf"].begin(), node["oneOf"].end(), is_named)) {
    say_names(node);
    node["oneOf"].push_back(nameless_form());
  }
  if (!describes_object(node)) return node;
  node["properties"]["use"] = use_property();
  relax_required(node);
  return node;
}

/// Of a file that others use: they may say what it leaves out.
Json of_part(const Json& section) {
  Json part = with_use(section);
  part.erase("anyOf");
  part.erase("default");
  return part;
}

const Json& object_form(const Json& section) {
  const auto form = std::find_if(section["oneOf"].begin(), section["oneOf"].end(), describes_object);
  CHECK(form != section["oneOf"].end(), "the section has a form that is an object");
  return *form;
}

Json unframed(const std::string& kind) {
  const Json& sections = resolved_schema()["properties"];
  if (kind == "cluster") return of_part(sections["cluster"]);
  if (kind == "device") return of_part(sections["cluster"]["properties"]["device"]);
  if (kind == "workload") return of_part(object_form(sections["workload"]));
  Json all = with_use(resolved_schema());
  if (kind == "study")
    all["allOf"] = {
        {{"anyOf", {{{"required", {"axes"}}}, {{"required", {"seeds"}}}, {{"required", {"use"}}}}}}};
  return all;
}

}  // namespace

const std::vector<std::string>& file_kinds() {
  static const std::vector<std::string> kinds = {"scenario", "study", "cluster", "device", "workload"};
  return kinds;
}

Json file_schema(const std::string& kind) {
  CHECK(std::find(file_kinds().begin(), file_kinds().end(), kind) != file_kinds().end(),
        "the kind of file has a schema");
  Json all = unframed(kind);
  all["$schema"] = "http://json-schema.org/draft-07/schema#";
  all["title"] = "SimSGD " + kind;
  all["properties"]["$schema"] = {{"type", "string"},
                                  {"description", "Where an editor finds this schema; ignored"}};
  return all;
}

}  // namespace simsgd

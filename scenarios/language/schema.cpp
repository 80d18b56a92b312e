#include "scenarios/language/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

/// What a scenario says of itself, beyond its sections.
struct RootSection {
  std::optional<std::string> name;
  std::string description;
  std::uint64_t seed = Job().seed;
  enum class Computing { real, emulated };
  std::optional<Computing> compute;

  void fields(Fields& f) {
    f.text("name", name, "Name of the scenario in reports").by_rule("the file's name");
    f.text("description", description, "What the scenario shows");
    f.whole("seed", seed, "Seed of all random numbers");
    f.choice(
         "compute", compute, {{"real", Computing::real}, {"emulated", Computing::emulated}},
         "How long computing takes in a real run (simsgd-measure). real: as long as the machine takes. emulated: as long as the workload says, as in a simulation; the values are computed in the background")
        .by_rule("real in a real run; a simulation always takes the workload's time");
  }
};

Json composed() {
  RootSection root;
  Json all = schema::of(root, "A scenario: distributed training to be simulated");
  all["properties"].update({{"cluster", schema::cluster()},
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
                            {"expected", schema::expected()},
                            {"axes", schema::axes()},
                            {"exclude", schema::exclude()},
                            {"seeds", schema::seeds()},
                            {"circumstances", schema::circumstances()},
                            {"claim", schema::claim()}});
  all["required"] = {"cluster", "workload", "algorithm", "stop"};
  return all;
}

/// Numbers without an upper bound of their own get one: what is larger overflows on its way through a run.
void bound_numbers(Json& node) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("description") && !node.contains("maximum") &&
      !node.contains("exclusiveMaximum") &&
      (node.contains("x-quantity") || node.value("type", Json()) == "number"))
    node["maximum"] = largest_of(node.value("x-quantity", ""));
  for (const auto& part : node.items())
    if (part.key() != "default" && part.key() != "enum" && part.key() != "const" &&
        part.key() != "expected" && part.key() != "examples")
      bound_numbers(part.value());
}

void collect_choices(const Json& node, const std::string& pointer, std::set<std::string>& all) {
  if (const auto forms = node.find("oneOf"); forms != node.end())
    for (const Json& form : *forms) {
      if (name_of_form(form) != nullptr) all.insert(pointer);
      collect_choices(form, pointer, all);
    }
  if (const auto properties = node.find("properties"); properties != node.end())
    for (const auto& property : properties->items())
      collect_choices(property.value(), child(pointer, property.key()), all);
}

}  // namespace

double largest_of(const std::string& dimension) {
  if (dimension == "time") return kLongestTime_s;
  if (dimension == "bytes" || dimension == "bandwidth") return 1e18;
  if (dimension == "flop" || dimension == "flops") return 1e24;
  return kLargestNumber;
}

const Json& resolved_schema() {
  static const Json schema = [] {
    Json all = composed();
    bound_numbers(all);
    return all;
  }();
  return schema;
}

const std::set<std::string>& named_choices() {
  static const std::set<std::string> choices = [] {
    std::set<std::string> all;
    collect_choices(resolved_schema(), "", all);
    return all;
  }();
  return choices;
}

// The schemas that editors complete from: the resolved one, with what only files have.

namespace {

bool describes_object(const Json& node) {
  return node.is_object() && node.contains("properties") && node["properties"].is_object() &&
         node.value("additionalProperties", Json(true)) == Json(false);
}

/// A form of an object that is chosen by its name.
bool is_named(const Json& form) { return describes_object(form) && name_of_form(form) != nullptr; }

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
    if (is_named(form)) names.push_back(*name_of_form(form));
  choice["properties"]["name"] = {{"enum", std::move(names)},
                                  {"description", "The name chooses the plug-in"}};
}

/// Lets every object begin with the object of a file.
Json with_use(Json node) {
  if (!node.is_structured()) return node;
  for (auto& part : node.items())
    if (part.key() != "default" && part.key() != "enum" && part.key() != "const" && part.key() != "examples")
      part.value() = with_use(std::move(part.value()));
  if (node.is_object() && node.contains("oneOf") && std::ranges::any_of(node["oneOf"], is_named)) {
    say_names(node);
    node["oneOf"].push_back(nameless_form());
  }
  if (!describes_object(node)) return node;
  node["properties"]["use"] = use_property();
  relax_required(node);
  return node;
}

/// The schema of a file that others use: they may say what it leaves out.
Json of_part(const Json& section) {
  Json part = with_use(section);
  part.erase("anyOf");
  part.erase("default");
  return part;
}

const Json& object_form(const Json& section) {
  const auto form = std::ranges::find_if(section["oneOf"], describes_object);
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

namespace {

/// What is shorter costs less than a reference to it.
constexpr std::size_t kLeastShared_bytes = 40;

/// Says something about a value, and nothing of which values are valid.
bool is_annotation(const std::string& keyword) {
  return keyword == "description" || keyword == "default" || keyword == "examples" || keyword == "title";
}

/// Calls `use` with each schema right inside `schema`, and with the key or name that it is known by.
template <class Use>
void each_part(Json& schema, const std::string& name, const Use& use) {
  for (auto& [keyword, value] : schema.items()) {
    if (keyword == "properties")
      for (auto& [key, property] : value.items()) use(property, key);
    else if (keyword == "oneOf" || keyword == "anyOf" || keyword == "allOf")
      for (Json& form : value) use(form, name);
    else if (keyword == "items" || keyword == "not")
      use(value, name);
  }
}

/// Without what only the loader and the reference read: citations, and keywords of our own; and without what
/// the form of a plug-in says again that its name says.
Json for_editors(Json schema) {
  Json kept = Json::object();
  for (const auto& [keyword, value] : schema.items())
    if (keyword != "$comment" && !keyword.starts_with("x-")) kept[keyword] = value;
  if (const Json* name = value_at(kept, "/properties/name"); name != nullptr && name->contains("const")) {
    kept.erase("description");
    kept.erase("title");
    kept["properties"]["name"].erase("type");
  }
  each_part(kept, "", [](Json& part, const std::string&) { part = for_editors(std::move(part)); });
  return kept;
}

/// The two halves of a schema: which values are valid, and what is said about them.
std::pair<Json, Json> halves(const Json& schema) {
  Json rule = Json::object(), notes = Json::object();
  for (const auto& [keyword, value] : schema.items())
    (is_annotation(keyword) ? notes : rule)[keyword] = value;
  return {std::move(rule), std::move(notes)};
}

class Sharing {
 public:
  /// The definitions of all kinds of files, and of what they share.
  Json run() {
    std::map<std::string, Json> files;
    for (const std::string& kind : file_kinds()) {
      files[kind] = for_editors(file_schema(kind));
      files[kind].erase("$schema");  // they are of a whole document
      files[kind].erase("title");
      defined_[kind] = nullptr;  // the name is taken
      count(files[kind]);
    }
    for (auto& [kind, schema] : files) defined_[kind] = with_shared_parts(std::move(schema), kind);
    return std::move(defined_);
  }

 private:
  void count(Json& schema) {
    const std::string text = schema.dump();
    if (++uses_[text] > 1) return;
    users_[halves(schema).first.dump()].insert(text);
    each_part(schema, "", [this](Json& part, const std::string&) { count(part); });
  }

  Json with_shared_parts(Json schema, const std::string& name) {
    each_part(schema, name,
              [this](Json& part, const std::string& key) { part = shared(std::move(part), key); });
    return schema;
  }

  Json shared(Json schema, const std::string& name) {
    const std::string text = schema.dump();
    if (uses_[text] == 1 || text.size() < kLeastShared_bytes) return annotated(std::move(schema), name);
    if (!named_.contains(text)) {
      const std::string chosen = take_name(text, name);
      defined_[chosen] = annotated(std::move(schema), name);
    }
    return reference(text);
  }

  /// Its rule may be that of others, about which other things are said.
  Json annotated(Json schema, const std::string& name) {
    auto [rule, notes] = halves(schema);
    const std::string text = rule.dump();
    if (users_[text].size() == 1 || notes.empty() || text.size() < kLeastShared_bytes)
      return with_shared_parts(std::move(schema), name);
    if (!named_.contains(text)) {
      const std::string chosen = take_name(text, name);
      defined_[chosen] = with_shared_parts(std::move(rule), name);
    }
    notes.update(reference(text));
    return notes;
  }

  std::string take_name(const std::string& text, const std::string& name) {
    std::string chosen = name;
    for (int number = 2; defined_.contains(chosen); ++number) chosen = fmt::format("{}_{}", name, number);
    defined_[chosen] = nullptr;
    return named_[text] = chosen;
  }

  Json reference(const std::string& text) const { return {{"$ref", "#/$defs/" + named_.at(text)}}; }

  std::map<std::string, int> uses_;                     // of each schema, as text
  std::map<std::string, std::set<std::string>> users_;  // of each rule, the schemas that have it
  std::map<std::string, std::string> named_;            // of each text that has a definition
  Json defined_ = Json::object();
};

const Json& definitions() {
  static const Json all = Sharing().run();
  return all;
}

Json referring_to(const std::string& kind, const std::string& document) {
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", "SimSGD " + kind},
          {"allOf", {{{"$ref", document + "#/$defs/" + kind}}}}};
}

/// A line for each definition.
std::string text_by_lines(const Json& schema) {
  std::string lines;
  for (const auto& [name, definition] : schema["$defs"].items())
    lines += fmt::format("{}\n  {}: {}", lines.empty() ? "" : ",", Json(name).dump(), definition.dump());
  Json rest = schema;
  rest["$defs"] = Json::object();
  std::string text = rest.dump(1);
  return text.replace(text.find("{}"), 2, "{" + lines + "\n }") + "\n";
}

}  // namespace

Json editor_schema(const std::string& kind) {
  Json schema = referring_to(kind, "");
  schema["$defs"] = definitions();
  return schema;
}

std::string editor_schema_text(const std::string& kind) { return text_by_lines(editor_schema(kind)); }

std::map<std::string, std::string> schema_files() {
  std::map<std::string, std::string> files;
  for (const std::string& kind : file_kinds()) {
    const std::string with_definitions = "scenario.schema.json", name = kind + ".schema.json";
    files[name] = name == with_definitions ? editor_schema_text(kind)
                                           : referring_to(kind, with_definitions).dump(1) + "\n";
  }
  return files;
}

}  // namespace simsgd

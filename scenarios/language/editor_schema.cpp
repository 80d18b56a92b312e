// The schemas as editors get them: what recurs is written once, under "$defs".
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd {

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

// The schemas that editors complete from, and the committed files that name them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/schema.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/scenarios/violations.hpp"

namespace simsgd::test::scenarios_file_schemas {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> committed_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"/scenarios", "/bench"})
    for (const auto& entry : fs::recursive_directory_iterator(std::string(SIMSGD_SOURCE_DIR) + folder))
      // Calibrations are not scenarios: tests/calibration/fit.cpp.
      if (entry.path().extension() == ".json" &&
          entry.path().string().find("/calibration/") == std::string::npos &&
          entry.path().string().find("/book/") == std::string::npos)
        files.push_back(entry.path());
  return files;
}

template <class AnyJson>
AnyJson parsed(const fs::path& path) {
  std::ifstream stream(path);
  return AnyJson::parse(stream, nullptr, true, true);
}

/// Choices of plug-ins without the list of their names beside the forms.
void unlisted_choices(const Json& node, const std::string& pointer, std::vector<std::string>& all,
                      int& choices) {
  if (!node.is_structured()) return;
  Json names = Json::array();
  if (node.is_object())
    for (const Json& form : node.value("oneOf", Json::array()))
      if (form.contains("properties") && form["properties"].contains("name") &&
          form["properties"]["name"].contains("const"))
        names.push_back(form["properties"]["name"]["const"]);
  if (!names.empty()) {
    ++choices;
    if (node.value(Json::json_pointer("/properties/name/enum"), Json()) != names) all.push_back(pointer);
  }
  for (const auto& part : node.items())
    if (part.key() != "default") unlisted_choices(part.value(), pointer + "/" + part.key(), all, choices);
}

bool is_wrong_at(const Json& schema, const Json& value, const std::vector<std::string>& path) {
  const auto all = violations(schema, value);
  return std::find(all.begin(), all.end(), path) != all.end();
}

/// Of a schema in `document` what decides whether a value is valid, with the schemas that it refers to.
Json rules_of(const Json& schema, const Json& document) {
  if (const auto named = schema.find("$ref"); named != schema.end())
    return rules_of(document.at(Json::json_pointer(named->get<std::string>().substr(1))), document);
  static const std::set<std::string> notes = {"description", "title",    "default",
                                              "examples",    "$comment", "$schema"};
  Json rules = Json::object();
  for (const auto& [keyword, value] : schema.items()) {
    const bool said_by_const = keyword == "type" && schema.contains("const");
    if (notes.contains(keyword) || keyword.starts_with("x-") || said_by_const) continue;
    Json& rule = rules[keyword] = value;
    if (keyword == "properties" || value.is_array())
      for (Json& part : rule) part = part.is_object() ? rules_of(part, document) : part;
    else if (value.is_object())
      rule = rules_of(value, document);
  }
  return rules;
}

}  // namespace

TEST_CASE("every committed scenario file begins with the schema of its kind, and meets it") {
  for (const fs::path& path : committed_files()) {
    CAPTURE(path.string());
    const auto ordered = parsed<nlohmann::ordered_json>(path);
    REQUIRE(ordered.begin().key() == "$schema");
    const fs::path schema = path.parent_path() / ordered["$schema"].get<std::string>();
    REQUIRE(fs::exists(schema));
    CHECK(fs::equivalent(schema.parent_path(), SIMSGD_SOURCE_DIR "/schemas"));
    const std::string name = schema.filename().string();
    const Json of_kind = editor_schema(name.substr(0, name.find('.')));
    CHECK(violations(of_kind, parsed<Json>(path)).empty());
  }
}

TEST_CASE("editors get the rules of the whole schema, of every kind of file, in a quarter of its length") {
  std::size_t bytes = 0, unshared_bytes = 0;
  for (const std::string& kind : file_kinds()) {
    CAPTURE(kind);
    const Json shared = editor_schema(kind), whole = file_schema(kind);
    CHECK(rules_of(shared["allOf"][0], shared) == rules_of(whole, whole));
    unshared_bytes += whole.dump().size();
  }
  for (const auto& [name, text] : schema_files()) bytes += text.size();
  CHECK(4 * bytes < unshared_bytes);
}

TEST_CASE("files of a folder refer to the scenario's schema, which stands alone") {
  const std::map<std::string, std::string> files = schema_files();
  CHECK(Json::parse(files.at("scenario.schema.json")) == editor_schema("scenario"));
  CHECK(Json::parse(files.at("device.schema.json")) ==
        Json{{"$schema", "http://json-schema.org/draft-07/schema#"},
             {"title", "SimSGD device"},
             {"allOf", {{{"$ref", "scenario.schema.json#/$defs/device"}}}}});
  CHECK(Json::parse(editor_schema_text("study")) == editor_schema("study"));
}

TEST_CASE("a misspelt name is answered with the names that there are, at each choice of plug-ins") {
  int choices = 0;
  std::vector<std::string> unlisted;
  unlisted_choices(file_schema("scenario"), "", unlisted, choices);
  for (const std::string& pointer : unlisted) FAIL_CHECK(pointer);
  CHECK(choices > 10);
  Json wrong = small_scenario();
  wrong["algorithm"]["name"] = "allreduce_sdg";
  CHECK(is_wrong_at(editor_schema("scenario"), wrong, {"algorithm", "name"}));
  wrong = small_scenario();
  wrong["stragglers"] = {{{"name", "lognormel"}}};
  CHECK(is_wrong_at(editor_schema("scenario"), wrong, {"stragglers", "0", "name"}));
}

TEST_CASE("a study's schema wants axes, seeds or a file that may have them; a scenario's admits them") {
  Json plain = small_scenario();
  CHECK(violations(editor_schema("scenario"), plain).empty());
  CHECK(!violations(editor_schema("study"), plain).empty());
  plain["seeds"] = 3;
  CHECK(violations(editor_schema("scenario"), plain).empty());
  CHECK(violations(editor_schema("study"), plain).empty());
}

TEST_CASE("$schema may stand in every file, and gets into no resolved document") {
  const Folder folder;
  Json scenario = small_scenario();
  Json cluster = scenario["cluster"], device = cluster["device"], workload = scenario["workload"];
  for (Json* file : {&scenario, &cluster, &device, &workload}) (*file)["$schema"] = "x.schema.json";
  cluster["device"] = {{"use", "device.json"}};
  scenario["cluster"] = {{"use", "cluster.json"}};
  scenario["workload"] = {{"use", "workload.json"}};
  folder.write_json("device.json", device);
  folder.write_json("cluster.json", cluster);
  folder.write_json("workload.json", workload);
  folder.write_json("s.json", scenario);
  CHECK(folder.errors("s.json").empty());
  CHECK(load_scenario(folder.path("s.json")).resolved.dump().find("$schema") == std::string::npos);
}

}  // namespace simsgd::test::scenarios_file_schemas

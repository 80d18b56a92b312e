// The schemas that editors complete from, and the committed files that name them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/language/schema.hpp"
#include "scenarios/language/validate.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_file_schemas {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> committed_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"/scenarios", "/bench"})
    for (const auto& entry : fs::recursive_directory_iterator(std::string(SIMSGD_SOURCE_DIR) + folder))
      // Calibrations are no scenarios: tests/calibration/specs.cpp.
      if (entry.path().extension() == ".json" &&
          entry.path().string().find("/calibration/") == std::string::npos)
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
  for (const Violation& violation : violations(schema, value))
    if (violation.path == path) return true;
  return false;
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
    CHECK(violations(parsed<Json>(schema), parsed<Json>(path)).empty());
  }
}

TEST_CASE("a misspelt name is answered with the names that there are, at each choice of plug-ins") {
  int choices = 0;
  std::vector<std::string> unlisted;
  unlisted_choices(scenario_schema(), "", unlisted, choices);
  for (const std::string& pointer : unlisted) FAIL_CHECK(pointer);
  CHECK(choices > 10);
  Json wrong = small_scenario();
  wrong["algorithm"]["name"] = "allreduce_sdg";
  CHECK(is_wrong_at(scenario_schema(), wrong, {"algorithm", "name"}));
  wrong = small_scenario();
  wrong["stragglers"] = {{{"name", "lognormel"}}};
  CHECK(is_wrong_at(scenario_schema(), wrong, {"stragglers", "0", "name"}));
}

TEST_CASE("a study's schema wants axes, seeds or a file that may have them; a scenario's admits them") {
  Json plain = small_scenario();
  CHECK(violations(file_schema("scenario"), plain).empty());
  CHECK(!violations(file_schema("study"), plain).empty());
  plain["seeds"] = 3;
  CHECK(violations(file_schema("scenario"), plain).empty());
  CHECK(violations(file_schema("study"), plain).empty());
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

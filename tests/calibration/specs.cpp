// Every committed calibration is one: it is read without an error. What goes with some measurements only, and
// cannot be written into a cluster, is refused where one is asked for.
#include <doctest/doctest.h>

#include <filesystem>

#include "scenarios/language/calibration_draws.hpp"
#include "support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::calibration_specs {

TEST_CASE("every committed calibration is read without an error") {
  int specs = 0;
  for (const char* folder : {"/scenarios/calibration", "/scenarios/book"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SIMSGD_SOURCE_DIR) + folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".json" || name == "book.json" || name == "judged.json") continue;
      CAPTURE(entry.path().string());
      Spec spec;
      CHECK_NOTHROW(spec = load_spec(entry.path().string()));
      for (const ModelSpec& model : spec.models)
        for (const ParameterSpec& each : model.parameters)
          for (const std::string& pointer : each.pointers) {
            CAPTURE(pointer);
            CHECK((setting_value(pointer, each.low) || setting_value(pointer, each.high)));
          }
      for (const ModelSpec& model : spec.models) {
        for (const EnsembleSpec& each : model.ensemble) {
          CAPTURE(each.pointer);
          CHECK(setting_value(each.pointer, each.values.front()));
        }
        for (const SearchSpec& each : model.searches) {
          CAPTURE(each.pointer);
          CHECK((setting_value(each.pointer, Json::array({{{"schedule", "ring"}}})) ||
                 setting_value(each.pointer, Json::array({{{"latency", 0}, {"bandwidth", 1}}}))));
        }
      }
      ++specs;
    }
  CHECK(specs >= 17);
}

namespace {

/// The ring, whose launch is fitted of some measurements only.
Json ring_where(const Json& where) {
  Json spec = ring_spec();
  spec["models"][0]["parameters"][0]["where"] = where;
  return spec;
}

std::string errors_of(const Json& spec, SpecUse use) {
  const Folder folder;
  folder.write_json("spec.json", spec);
  return refusal_of<ConfigError>([&] { load_spec(folder.path("spec.json"), use); });
}

}  // namespace

TEST_CASE("what goes with a column that no scenario has is reported, and refused for a cluster's file") {
  Json spec = ring_where({{"campaign", "a"}});
  spec["models"][0]["ensemble"] = {{{"name", "schedule"},
                                    {"pointer", "/network/all_reduce"},
                                    {"values", {"ring", "rabenseifner"}},
                                    {"where", {{"workers", {{"power_of", 2}}}}}}};
  CHECK(errors_of(spec, SpecUse::reports).empty());
  const std::string errors = errors_of(spec, SpecUse::cluster);
  CAPTURE(errors);
  for (
      const char* text :
      {"spec.json:/models/0/parameters/0/where/campaign: selects by a column that scenarios do not have, so the value cannot be written into a cluster",
       "Select by algorithm, workload, workers, nodes or batch, with a value, at_least or at_most; or only report (without -o, or with validate)",
       "spec.json:/models/0/ensemble/0/where/workers: selects by a column"})
    CHECK(errors.find(text) != std::string::npos);
}

TEST_CASE(
    "a number of the cluster is one for all scenarios: a condition on it is refused for a cluster's file") {
  Json spec = ring_where({{"workers", {2, 4}}});
  CHECK(errors_of(spec, SpecUse::reports).empty());
  const std::string errors = errors_of(spec, SpecUse::cluster);
  CAPTURE(errors);
  CHECK(
      errors.find(
          "/models/0/parameters/0/where: selects scenarios for a number of the cluster, which has one value for all of them") !=
      std::string::npos);
  spec["models"][0]["parameters"][0]["pointers"] = {"/workload/compute_factor"};
  CHECK(errors_of(spec, SpecUse::cluster).empty());
}

}  // namespace simsgd::test::calibration_specs

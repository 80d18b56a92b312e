// Every committed calibration is one: it is read without an error. What goes with some measurements only is
// written with the scenarios that it is for, or refused.
#include <doctest/doctest.h>

#include <filesystem>

#include "support.hpp"

namespace simsgd::test::calibration_specs {

TEST_CASE("every committed calibration is read without an error") {
  int specs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/calibration")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().string());
    CHECK_NOTHROW(load_spec(entry.path().string()));
    ++specs;
  }
  CHECK(specs >= 12);
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
  try {
    load_spec(folder.path("spec.json"), use);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
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
  for (const char* text :
       {"spec.json:/models/0/parameters/0/where/campaign: is a column, or a condition on one, that no "
        "scenario "
        "has: it cannot be written into a cluster",
        "Ask for algorithm, workload, workers, nodes or batch, by value, at_least or at_most; or only report "
        "(no -o, or validate)",
        "spec.json:/models/0/ensemble/0/where/workers: is a column"})
    CHECK(errors.find(text) != std::string::npos);
  CHECK(errors_of(ring_where({{"workers", {2, 4}}}), SpecUse::cluster).empty());
}

TEST_CASE("a number of some measurements is written as a setting of their scenarios") {
  const SpecFolder folder(ring_where({{"workers", 4}}), ring_rows({}, 0.03, 5));
  const auto calibration = folder.run();
  Json scenario = small_scenario();
  scenario["cluster"] = calibrated_cluster(*calibration, folder.directory(), "2026-01-31");
  scenario["cluster"]["workers"] = 4;
  const Json& setting = scenario["cluster"]["calibration"]["settings"].at(0);
  CHECK(setting["name"] == "launch");
  CHECK(setting["pointer"] == "/cluster/collectives/all_reduce/0/launch");
  CHECK(setting["where"] == Json{{"/cluster/workers", {"4"}}});
}

}  // namespace simsgd::test::calibration_specs

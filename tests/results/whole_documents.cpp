// A document says everything about its run: each committed scenario's holds every default, and running the
// scenario in it gives the same document again.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/language/schema.hpp"
#include "sim/base/explain.hpp"
#include "tests/results/committed_scenarios.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::results_whole_documents {

TEST_CASE("documents of committed scenarios hold every default, and their scenarios give them again") {
  const std::vector<std::filesystem::path> all = committed_scenarios();
  REQUIRE(all.size() >= 35);
  for (const std::filesystem::path& path : all) {
    CAPTURE(path);
    const OrderedJson document = short_run(path, 2);
    const Json scenario = Json::parse(document["scenario"].dump());
    for (const auto& section : resolved_schema()["properties"].items()) {
      CAPTURE(section.key());
      const std::vector<std::string> of_studies = {"axes", "circumstances", "claim", "exclude", "seeds"};
      if (std::find(of_studies.begin(), of_studies.end(), section.key()) != of_studies.end()) continue;
      // What is left out a simulation has not taken from anywhere: it tells real runs alone what to do.
      if (section.key() == "compute" && !scenario.contains("compute")) continue;
      REQUIRE(scenario.contains(section.key()));
      CHECK(with_defaults(section.value(), scenario[section.key()]) == scenario[section.key()]);
    }
    CHECK(document_of(load(scenario)) == document);
  }
}

}  // namespace simsgd::test::results_whole_documents

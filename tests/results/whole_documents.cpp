// A document says everything about its run: each committed scenario's holds every default, and running the
// scenario in it gives the same document again.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/language/concrete.hpp"
#include "scenarios/language/schema.hpp"
#include "tests/cli/scratch.hpp"

namespace simsgd::test::results_whole_documents {

namespace {

std::vector<std::filesystem::path> committed() {
  std::vector<std::filesystem::path> all;
  const std::filesystem::path root = SIMSGD_SOURCE_DIR;
  for (const char* folder : {"scenarios", "scenarios/papers", "scenarios/studies", "bench"})
    for (const auto& entry : std::filesystem::directory_iterator(root / folder))
      if (entry.path().extension() == ".json") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// Two steps of it; of a study, of its first point.
cli::Outcome short_run(const cli::Scratch& scratch, const std::filesystem::path& path) {
  const std::string arguments = "run " + path.string() + " --set /stop/steps=2 --json";
  const cli::Outcome outcome = scratch.simsgd(arguments);
  return outcome.err.find("a study of several runs") == std::string::npos
             ? outcome
             : scratch.simsgd(arguments + " --point 1");
}

}  // namespace

TEST_CASE("documents of committed scenarios hold every default, and their scenarios give them again") {
  const cli::Scratch scratch;
  const std::vector<std::filesystem::path> all = committed();
  REQUIRE(all.size() >= 35);
  for (const std::filesystem::path& path : all) {
    CAPTURE(path);
    const cli::Outcome first = short_run(scratch, path);
    CAPTURE(first.err);
    REQUIRE(first.code == 0);
    const auto document = cli::without_context(first.out);
    const Json scenario = Json::parse(document["scenario"].dump());
    for (const auto& section : resolved_schema()["properties"].items()) {
      CAPTURE(section.key());
      if (section.key() == "axes" || section.key() == "seeds") continue;
      REQUIRE(scenario.contains(section.key()));
      CHECK(with_defaults(section.value(), scenario[section.key()]) == scenario[section.key()]);
    }
    scratch.write("again.json", scenario.dump());
    const cli::Outcome second = scratch.simsgd("run again.json --json");
    CAPTURE(second.err);
    REQUIRE(second.code == 0);
    CHECK(cli::without_context(second.out) == document);
  }
}

}  // namespace simsgd::test::results_whole_documents

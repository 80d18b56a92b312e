// The scenarios and studies of the repository, and short runs of them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/runner.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd::test {

inline std::vector<std::filesystem::path> committed_scenarios() {
  std::vector<std::filesystem::path> all;
  const std::filesystem::path root = SIMSGD_SOURCE_DIR;
  for (const char* folder : {"scenarios", "scenarios/papers", "scenarios/studies", "bench"})
    for (const auto& entry : std::filesystem::directory_iterator(root / folder))
      if (entry.path().extension() == ".json") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// As `simsgd run --json` prints it, without its context.
inline OrderedJson document_of(const Scenario& scenario) {
  OrderedJson document = run_with_intervals(scenario, {}, {.draws = 0, .jobs = 1, .progress = {}}).document;
  document.erase("context");
  return document;
}

/// The document of so many steps, or as many as bench/diloco.json needs for its exchange, without intervals;
/// of a study, of its first point.
inline OrderedJson short_run(const std::filesystem::path& path, int steps) {
  if (path.filename() == "diloco.json") steps = 32;
  return document_of(
      load_numbered_point(path, 1, {.set = {{"/stop/steps", std::to_string(steps)}}, .seed = {}}).scenario);
}

}  // namespace simsgd::test

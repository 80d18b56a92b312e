// The scenarios and studies of the repository, and short runs of them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/scratch.hpp"

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

/// So many steps of it, or as many as bench/diloco.json needs for its exchange, without intervals; of a
/// study, of its first point.
inline cli::Outcome short_run(const cli::Scratch& scratch, const std::filesystem::path& path, int steps) {
  if (path.filename() == "diloco.json") steps = 32;
  const std::string text = contents(path);
  const bool study =
      text.find("\"axes\":") != std::string::npos || text.find("\"use\": \"studies/") != std::string::npos;
  return scratch.simsgd("run " + path.string() + " --json --draws 0 --set /stop/steps=" +
                        std::to_string(steps) + (study ? " --point 1" : ""));
}

}  // namespace simsgd::test

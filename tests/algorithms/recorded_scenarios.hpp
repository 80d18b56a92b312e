// A small scenario of every algorithm, and several of most: those of tests/results/recorded_runs.json.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/language/json_source.hpp"
#include "tests/support/contents.hpp"

namespace simsgd::test {

/// The recorded runs that differ from the base in nothing but the algorithm and what it needs, by algorithm.
inline std::map<std::string, std::vector<Json>> scenarios_by_algorithm() {
  const std::string file = SIMSGD_SOURCE_DIR "/tests/results/recorded_runs.json";
  const Json small = parse_json(contents(file), file);
  std::map<std::string, std::vector<Json>> all;
  for (const auto& [name, patch] : small["runs"].items()) {
    if (!patch.contains("algorithm") || name.find(':') != std::string::npos) continue;
    Json scenario = small["base"];
    scenario.merge_patch(patch);
    for (const char* section : {"cluster", "workload"})
      if (scenario[section].is_object() && scenario[section].contains("use"))
        scenario[section]["use"] =
            SIMSGD_SOURCE_DIR "/scenarios/" + scenario[section]["use"].get<std::string>();
    all[scenario["algorithm"]["name"].get<std::string>()].push_back(std::move(scenario));
  }
  return all;
}

}  // namespace simsgd::test

// A whole run of a scenario, as `simsgd run` does it, from the file to the document.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "bench/summary.hpp"
#include "scenarios/language/scenario.hpp"

namespace simsgd::bench {

struct ScenarioRun {
  Elapsed elapsed;
  double peak_bytes = 0;  ///< of resident memory
};

/// In a child process; the wall time becomes the iteration's, and the memory a counter.
ScenarioRun time_scenario(benchmark::State& state, const std::string& file, const Overrides& overrides = {},
                          int threads = 1);

}  // namespace simsgd::bench

// A whole run of a scenario, as `simsgd run` does it, from the file to the document.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/job.hpp"

namespace simsgd::bench {

struct ScenarioRun {
  Elapsed elapsed, bare;
  double peak_bytes = 0;  ///< of resident memory
};

/// In a child process; the wall time becomes the iteration's, and the memory a counter.
ScenarioRun time_scenario(benchmark::State& state, const std::string& file, const Overrides& overrides = {},
                          int threads = 1);

/// The same, and a bare program that tells when the job's last worker ends: to 1e-9 as the run does, or as
/// one of `compared` does where that is another one.
ScenarioRun time_scenario_beside(benchmark::State& state, const std::string& file, const Overrides& overrides,
                                 const std::function<double(const Job&)>& bare_s,
                                 const std::optional<Overrides>& compared = {});

// A function in a forked child, whose memory is that of one run.

struct ChildRun {
  std::vector<double> numbers;  ///< what the function gave
  double peak_bytes = 0;        ///< of resident memory
};

/// Throws std::runtime_error if the child does not end well.
ChildRun run_in_child(const std::function<std::vector<double>()>& body);

}  // namespace simsgd::bench

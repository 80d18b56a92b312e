// The steps behind load_scenario, load_study and make_job, for files that share what they have read.
#pragma once

#include <string>
#include <vector>

#include "scenarios/errors.hpp"
#include "scenarios/scenario.hpp"

namespace simsgd {

struct Loading {
  Scenario scenario;
  ErrorList errors;
};

/// Reads, resolves, completes and validates. `as_point`: drops the axes and seeds of a study, which else are
/// errors.
Loading load(JsonFiles& files, const std::string& path, const std::vector<Assignment>& assignments,
             bool as_point);

/// What can be built of the scenario; `loading.errors` receives what cannot.
Job build_job(Loading& loading);

/// Throws everything that is wrong, after having looked also at the sections that the schema accepts.
Scenario finished(Loading loading);

/// More workers than `run` accepts: every worker is an actor of the simulation with a stack of its own, which
/// takes two of the 65,530 memory maps that Linux gives a process (vm.max_map_count).
inline constexpr int kMostWorkers = 30000;

}  // namespace simsgd

// Runs one scenario in the simulator.
#pragma once

#include "results/document.hpp"
#include "results/run_files.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

struct Scenario;

/// Simulates; the document's context tells this build, this machine, and the wall time since the call. Throws
/// ConfigError, RunError, Interrupted.
RunOutcome run_scenario(const Scenario& scenario, const SimulationOptions& options);

/// The same of a job that was made of the scenario. `brief`: with brief_document(), and the scenario null.
RunOutcome run_job(const Scenario& scenario, const Job& job, const SimulationOptions& options, bool brief);

/// Program, version, commit and build of this binary.
RunContext build_context();

}  // namespace simsgd

// Runs one scenario in the simulator and writes what comes out of it. One run per process (SimGrid): sweeps
// fork.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "results/document.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

/// The document of a run, and what only files hold.
struct RunOutcome {
  nlohmann::ordered_json document;
  Timeline timeline;
};

/// Simulates; the document's context tells this build, this machine, and the wall time since the call. Throws
/// ConfigError, RunError, Interrupted.
RunOutcome run_scenario(const Scenario& scenario, const SimulationOptions& options);

/// Where the files of a run lie.
struct RunFiles {
  std::filesystem::path document, training_curve, test_curve, timeline;
};

/// Writes DIR/result.json, DIR/loss.csv, DIR/accuracy.csv, DIR/timeline.json and DIR/kineto/rank<N>.json;
/// leaves out what the run does not have. Makes DIR. Each file appears whole or not at all. Throws RunError.
RunFiles write_run(const RunOutcome& outcome, const std::filesystem::path& directory);

/// Program, version, commit and build of this binary.
RunContext build_context();

}  // namespace simsgd

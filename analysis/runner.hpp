// Runs one scenario in the simulator.
#pragma once

#include "analysis/parameter_draws.hpp"
#include "results/document.hpp"
#include "results/run_files.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

/// Simulates; the document's context tells this build, this machine, and the wall time since the call. Throws
/// ConfigError, RunError, Interrupted.
RunOutcome run_scenario(const Scenario& scenario, const SimulationOptions& options);

/// The same of a job that was made of the scenario. `brief`: with brief_document(), and the scenario null.
RunOutcome run_job(const Scenario& scenario, const Job& job, const SimulationOptions& options, bool brief);

/// SimGrid, whose library lies beside the program, keeps the time of the one run that this process may make
/// so. Throws ConfigError where it does not.
void let_simgrid_keep_time(SimulationOptions& options);

/// Program, version, commit and build of this binary.
RunContext build_context();

// Intervals of a run's times on a calibrated cluster: the run again with parameters and seeds drawn together.

inline constexpr int kUsualDraws = 20;

struct IntervalSettings {
  int draws = kUsualDraws;  ///< 0: no intervals
  int jobs = 1;             ///< children at a time; results do not depend on it
  std::function<void(std::size_t done, std::size_t all)> progress{};  ///< may be empty
};

/// Whether seeds matter to a run beside what is drawn.
bool draws_seeds_too(const Scenario& scenario, const Job& job, const ParameterDraws& draws);

/// What draw `k` of a run changes: ParameterDraws::values, and the seed where that matters (`seeds`).
std::vector<std::pair<std::string, Json>> drawn_values(const Scenario& scenario, const ParameterDraws& draws,
                                                       std::size_t k, bool seeds);

/// Runs that a draw of a calibrated scenario takes: 0 where nothing is drawn, 1 of parameters, 2 where the
/// seed matters too, which is then drawn by itself once more.
int runs_per_draw(const Scenario& scenario, const Job& job);

/// Runs of a point in all, its own among them.
inline int runs_with_intervals(int runs_per_draw, int draws) {
  return draws < 2 ? 1 : 1 + runs_per_draw * draws;
}

/// As run_scenario; the document also has "intervals" and "uncertainty". Where nothing was calibrated they
/// are those of data sheets (data_sheet.hpp), without further runs. Else draw k has the k-th of the
/// calibration's parameters and a seed that is a function of the scenario's and k alone, so that all
/// algorithms meet the same ones. Beyond what was measured the parameters' deviations are multiplied
/// (analysis/widening.hpp), and a note says so. Every interval reaches at least as far from the run's own
/// value as times were off that were left out of the fit.
RunOutcome run_with_intervals(const Scenario& scenario, const Job& job, const SimulationOptions& options,
                              const IntervalSettings& settings);
/// The same with the scenario's job.
RunOutcome run_with_intervals(const Scenario& scenario, const SimulationOptions& options,
                              const IntervalSettings& settings);

}  // namespace simsgd

#include "analysis/runner.hpp"

#include <chrono>

#include "results/document.hpp"
#include "scenarios/language/scenario.hpp"

namespace simsgd {

RunContext build_context() {
  RunContext context = context_of("simsgd");
  context.simgrid_version = simgrid_version();
  return context;
}

RunOutcome run_scenario(const Scenario& scenario, const SimulationOptions& options) {
  return run_job(scenario, make_job(scenario), options, false);
}

RunOutcome run_job(const Scenario& scenario, const Job& job, const SimulationOptions& options, bool brief) {
  const auto begin = std::chrono::steady_clock::now();
  SimulationResult result = simulate(job, options);
  RunContext context = with_machine(build_context());
  context.wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {brief ? make_brief_document(context, scenario, job, result.record)
                : make_document(context, scenario, job, result.record),
          std::move(result.timeline)};
}

}  // namespace simsgd

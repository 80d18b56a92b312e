// The part of the jobs' support that needs algorithms and the engine.
#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test {

void use_algorithm(Job& job, const std::string& name, const Json& parameters) {
  for (const AlgorithmPlugin& plugin : algorithm_plugins())
    if (plugin.info.name == name)
      job.algorithm = plugin.make(parameters, {.workers = job.workers(),
                                               .workload = &job.workload,
                                               .seed = job.seed,
                                               .cluster = &job.cluster,
                                               .graph = &job.graph,
                                               .learner = job.learner.get()});
}

RunRecord simulate_job(const Job& job, int threads, const std::vector<Observer*>& observers) {
  SimulationOptions options;
  options.threads = threads;
  options.observers = observers;
  return simulate(job, options).record;
}

}  // namespace simsgd::test

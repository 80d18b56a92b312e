#include "bench/scenario_run.hpp"

#include "analysis/runner.hpp"
#include "bench/child.hpp"
#include "scenarios/language/scenario.hpp"

namespace simsgd::bench {

ScenarioRun time_scenario(benchmark::State& state, const std::string& file, const Overrides& overrides,
                          int threads) {
  const ChildRun run = run_in_child([&] {
    const Stopwatch watch;
    SimulationOptions options;
    options.threads = threads;
    const RunOutcome outcome = run_scenario(load_scenario(file, overrides), options);
    benchmark::DoNotOptimize(outcome.document.dump().size());
    const Elapsed elapsed = watch.elapsed();
    return std::vector<double>{elapsed.wall_s, elapsed.cpu_s};
  });
  state.SetIterationTime(run.numbers.at(0));
  state.counters["MB"] = run.peak_bytes / 1e6;
  return {{run.numbers.at(0), run.numbers.at(1)}, run.peak_bytes};
}

}  // namespace simsgd::bench

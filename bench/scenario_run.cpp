#include "bench/scenario_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

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
  return {{run.numbers.at(0), run.numbers.at(1)}, {}, run.peak_bytes};
}

ScenarioRun time_scenario_beside(benchmark::State& state, const std::string& file, const Overrides& overrides,
                                 const std::function<double(const Job&)>& bare_s) {
  const ChildRun run = run_in_child([&] {
    const Stopwatch watch;
    const RunOutcome outcome = run_scenario(load_scenario(file, overrides), {});
    benchmark::DoNotOptimize(outcome.document.dump().size());
    const Elapsed whole = watch.elapsed();
    const double simulated_s = outcome.document.at("metrics").at("simulated_time_s").get<double>();
    const Job job = make_job(load_scenario(file, overrides));
    const Stopwatch bare_watch;
    const double expected_s = bare_s(job);
    const Elapsed bare = bare_watch.elapsed();
    if (!(std::fabs(simulated_s - expected_s) <= 1e-9 * expected_s))
      throw std::runtime_error(
          fmt::format("the run ends at {} s, and at {} s by the bare program", simulated_s, expected_s));
    return std::vector<double>{whole.wall_s, whole.cpu_s, bare.wall_s, bare.cpu_s};
  });
  state.SetIterationTime(run.numbers.at(0));
  state.counters["MB"] = run.peak_bytes / 1e6;
  return {{run.numbers.at(0), run.numbers.at(1)}, {run.numbers.at(2), run.numbers.at(3)}, run.peak_bytes};
}

}  // namespace simsgd::bench

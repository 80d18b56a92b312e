// A run without a learner, as `simsgd run` does it: from the scenario file to the document.
#include <benchmark/benchmark.h>

#include "analysis/runner.hpp"
#include "bench/benchmarks.hpp"
#include "bench/child.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

void timing_only(benchmark::State& state, Summary& summary, const std::string& what,
                 const Overrides& overrides) {
  for (auto _ : state) {
    const ChildRun run = run_in_child([&] {
      const Stopwatch watch;
      const RunOutcome outcome = run_scenario(load_scenario(kScenario, overrides), SimulationOptions{});
      benchmark::DoNotOptimize(outcome.document.dump().size());
      const Elapsed elapsed = watch.elapsed();
      return std::vector<double>{elapsed.wall_s, elapsed.cpu_s};
    });
    state.SetIterationTime(run.numbers.at(0));
    state.counters["MB"] = run.peak_bytes / 1e6;
    const std::string name = "1,024 workers x 1,000 steps, log-normal stragglers, " + what;
    summary.time(name, {run.numbers.at(0), run.numbers.at(1)}, 5);
    summary.memory("memory of that, " + what, run.peak_bytes, 300e6);
  }
}

}  // namespace

void register_timing_only(Summary& summary) {
  const struct {
    const char *name, *what;
    Overrides overrides;
  } cases[] = {{"one_gpu_per_node", "1 GPU per node (`closed`)", {{{"/cluster/gpus_per_node", "1"}}, {}}},
               {"four_gpus_per_node", "4 GPUs per node (`steps`)", {}}};
  for (const auto& each : cases)
    benchmark::RegisterBenchmark(
        (std::string("timing_only/") + each.name).c_str(),
        [&summary, what = std::string(each.what), overrides = each.overrides](benchmark::State& state) {
          timing_only(state, summary, what, overrides);
        })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(3);
}

}  // namespace simsgd::bench

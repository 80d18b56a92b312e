// A run without a learner, as `simsgd run` does it: from the scenario file to the document.
#include <benchmark/benchmark.h>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kTimingScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

void timing_only(benchmark::State& state, Summary& summary, const std::string& what,
                 const Overrides& overrides) {
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario(state, kTimingScenario, overrides);
    const std::string name = "1,024 workers x 1,000 steps, log-normal stragglers, " + what;
    summary.time(name, run.elapsed, 5);
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

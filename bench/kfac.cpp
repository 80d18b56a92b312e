// One iteration of SPD-KFAC, time only, from the scenario file to the document: ResNet-152 on 64 GPUs.
#include <benchmark/benchmark.h>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kKfacScenario = SIMSGD_SOURCE_DIR "/scenarios/papers/spd_kfac_spd_kfac.json";

void spd_kfac(benchmark::State& state, Summary& summary) {
  const Overrides overrides{
      {{"/workload/use", "workloads/resnet152.json"}, {"/workload/batch", "8"}, {"/stop/steps", "1"}}, {}};
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario(state, kKfacScenario, overrides);
    summary.time("an iteration of SPD-KFAC, ResNet-152 on 64 GPUs", run.elapsed, 0.3);
  }
}

}  // namespace

void register_kfac(Summary& summary) {
  benchmark::RegisterBenchmark("kfac/spd_kfac_resnet152",
                               [&summary](benchmark::State& state) { spd_kfac(state, summary); })
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime()
      ->Iterations(5);
}

}  // namespace simsgd::bench

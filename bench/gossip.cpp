// Algorithms in which nobody waits for the slowest, time only, as `simsgd run` does it: the scenarios of
// scenarios/papers/wagma_resnet50_*.json with 1,024 workers.
#include <benchmark/benchmark.h>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

void gossip(benchmark::State& state, Summary& summary, const std::string& algorithm, double limit_s) {
  const std::string file = SIMSGD_SOURCE_DIR "/scenarios/papers/wagma_resnet50_" + algorithm + ".json";
  const Overrides overrides{{{"/cluster/workers", "1024"}, {"/stop/steps", "1000"}}, {}};
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario(state, file, overrides);
    summary.time(algorithm + ", 1,024 workers x 1,000 steps", run.elapsed, limit_s);
    summary.memory("memory of that, " + algorithm, run.peak_bytes, 1e9);
  }
}

}  // namespace

void register_gossip(Summary& summary) {
  const struct {
    const char* algorithm;
    double limit_s;
  } cases[] = {{"wagma", 20}, {"ad_psgd", 30}, {"sgp", 30}, {"d_psgd", 20}};
  for (const auto& each : cases)
    benchmark::RegisterBenchmark((std::string("gossip/") + each.algorithm).c_str(),
                                 [&summary, algorithm = std::string(each.algorithm), limit_s = each.limit_s](
                                     benchmark::State& state) { gossip(state, summary, algorithm, limit_s); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(2);
}

}  // namespace simsgd::bench

// Methods in which workers do not wait for all others, time only, as `simsgd run` does it: the cluster and
// the delays of timing_only.json, where the four GPUs of a node share its NIC.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kGossipScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

void gossip(benchmark::State& state, Summary& summary, const std::string& algorithm, int workers,
            double limit_s) {
  const int steps = workers == 64 ? 100 : 1000;
  const Overrides overrides{{{"/algorithm", fmt::format(R"({{"name": "{}"}})", algorithm)},
                             {"/cluster/workers", std::to_string(workers)},
                             {"/stop/steps", std::to_string(steps)}},
                            {}};
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario(state, kGossipScenario, overrides);
    const std::string what =
        fmt::format("{}, {} workers x {} steps, 4 GPUs behind a NIC", algorithm, workers, steps);
    summary.time(what, run.elapsed, limit_s);
    summary.memory("memory of " + what, run.peak_bytes, 1e9);
  }
}

}  // namespace

void register_gossip(Summary& summary) {
  const struct {
    const char* algorithm;
    double limit_s;
  } cases[] = {{"wagma", 8}, {"eager_sgd", 8}, {"nonblocking", 8}, {"ad_psgd", 4}, {"d_psgd", 3}, {"sgp", 3}};
  for (const auto& [algorithm, limit_s] : cases)
    for (const int workers : {64, 1024})
      benchmark::RegisterBenchmark(
          fmt::format("gossip/{}/{}", algorithm, workers).c_str(),
          [&summary, algorithm = std::string(algorithm), workers, limit_s = workers == 64 ? 0.1 : limit_s](
              benchmark::State& state) { gossip(state, summary, algorithm, workers, limit_s); })
          ->Unit(benchmark::kMillisecond)
          ->UseManualTime()
          ->Iterations(1);
}

}  // namespace simsgd::bench

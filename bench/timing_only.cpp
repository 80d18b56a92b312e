// Runs without a learner, as `simsgd run` does them, from the scenario file to the document: many steps of
// 1,024 workers and a few of very many, beside a bare loop over the same draws and the same all-reduces,
// which must end at the same instant.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/bare_steps.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kTimingScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

struct TimingCase {
  const char* name;
  int workers, gpus_per_node, steps;
  double limit_s, limit_bytes;
};

Overrides overrides_of(const TimingCase& each) {
  return {{{"/cluster/workers", std::to_string(each.workers)},
           {"/cluster/gpus_per_node", std::to_string(each.gpus_per_node)},
           {"/stop/steps", std::to_string(each.steps)}},
          {}};
}

void timing_only(benchmark::State& state, Summary& summary, const TimingCase& each) {
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario_beside(state, kTimingScenario, overrides_of(each), bare_steps_s);
    const std::string what = fmt::format("Allreduce-SGD, {} workers x {} steps, log-normal delays, `{}`",
                                         each.workers, each.steps, each.name);
    summary.time(what, run.elapsed, each.limit_s);
    summary.ratio(what + " / bare loop", run.elapsed, run.bare, 0);
    summary.memory("memory of " + what, run.peak_bytes, each.limit_bytes);
  }
}

}  // namespace

void register_timing_only(Summary& summary) {
  static constexpr TimingCase kCases[] = {
      {"closed", 64, 1, 100, 0.1, 100e6},    {"steps", 64, 4, 100, 0.1, 100e6},
      {"closed", 1024, 1, 1000, 0.6, 300e6}, {"steps", 1024, 4, 1000, 1.5, 300e6},
      {"closed", 16384, 1, 20, 0.3, 8e9},    {"closed", 30000, 1, 20, 0.6, 8e9},
      {"closed", 65536, 1, 20, 1.5, 8e9},    {"closed", 1048576, 1, 20, 30, 8e9},
      {"steps", 65536, 4, 20, 3, 8e9},       {"steps", 1048576, 4, 20, 60, 8e9}};
  for (const TimingCase& each : kCases)
    benchmark::RegisterBenchmark(
        fmt::format("timing_only/{}/{}", each.name, each.workers).c_str(),
        [&summary, &each](benchmark::State& state) { timing_only(state, summary, each); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(each.workers > 65536 ? 1 : 3);
}

}  // namespace simsgd::bench

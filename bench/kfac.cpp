// SPD-KFAC from the scenario file to the document: time only, ResNet-152 on 64 and on 1,024 GPUs; and with 64
// workers that learn.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/bare_programs.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kKfacScenario = SIMSGD_SOURCE_DIR "/scenarios/papers/spd_kfac_spd_kfac.json";
constexpr const char* kKfacLearningScenario = SIMSGD_SOURCE_DIR "/bench/learning.json";

void spd_kfac(benchmark::State& state, Summary& summary, int workers, int steps, double limit_s) {
  const Overrides overrides{{{"/workload/use", "workloads/resnet152.json"},
                             {"/workload/batch", "8"},
                             {"/cluster/workers", std::to_string(workers)},
                             {"/stop/steps", std::to_string(steps)}},
                            {}};
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario_beside(state, kKfacScenario, overrides, bare_spd_kfac_s);
    const std::string what = fmt::format("SPD-KFAC, ResNet-152, {} GPUs x {} steps", workers, steps);
    summary.time(what, run.elapsed, limit_s);
    summary.ratio(what + " / bare event loop", run.elapsed, run.bare, 0);
  }
}

void learning(benchmark::State& state, Summary& summary, int steps, double limit_s) {
  const Overrides overrides{
      {{"/algorithm", R"({"name": "spd_kfac"})"}, {"/stop/steps", std::to_string(steps)}}, {}};
  const Overrides sgd{{{"/stop/steps", std::to_string(steps)}}, {}};
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun reference = time_scenario(state, kKfacLearningScenario, sgd);
    const ScenarioRun run = time_scenario(state, kKfacLearningScenario, overrides);
    const std::string what = fmt::format("SPD-KFAC learning, 64 workers x {} steps", steps);
    summary.time(what, run.elapsed, limit_s);
    summary.ratio(what + " / SGD", run.elapsed, reference.elapsed, 0);
  }
}

}  // namespace

void register_kfac(Summary& summary) {
  add_benchmark("kfac/spd_kfac_resnet152/64", Clock::told, 1,
                [&summary](benchmark::State& state) { spd_kfac(state, summary, 64, 1, 0.3); });
  add_benchmark("kfac/spd_kfac_resnet152/1024", Clock::told, 1,
                [&summary](benchmark::State& state) { spd_kfac(state, summary, 1024, 5, 3); });
  add_benchmark("kfac/learning/64/steps_2", Clock::told, 1,
                [&summary](benchmark::State& state) { learning(state, summary, 2, 0); });
  add_benchmark("kfac/learning/steps_50", Clock::told, 1,
                [&summary](benchmark::State& state) { learning(state, summary, 50, 3); });
}

}  // namespace simsgd::bench

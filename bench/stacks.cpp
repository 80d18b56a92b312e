// What a communication stack costs the simulation: the same run with it and without, as a ratio.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";
constexpr double kLimit = 0;  // nothing was promised

// Tensor by tensor without the stack too.
Overrides settings(const std::string& stack) {
  Overrides overrides{{{"/cluster/workers", "64"}, {"/algorithm/fusion", "none"}, {"/stop/steps", "50"}}, {}};
  if (!stack.empty()) overrides.set.emplace_back("/cluster/stack", stack);
  return overrides;
}

void with_and_without(benchmark::State& state, Summary& summary, const std::string& name,
                      const std::string& stack) {
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun without = time_scenario(state, kScenario, settings(""));
    const ScenarioRun with = time_scenario(state, kScenario, settings(stack));
    summary.ratio("64 workers x 50 steps of 161 tensors: with the stack " + name + " over without one",
                  with.elapsed, without.elapsed, kLimit);
  }
}

}  // namespace

void register_stacks(Summary& summary) {
  const std::pair<const char*, const char*> stacks[] = {
      {"horovod", R"({"name": "horovod", "cycle": "1 ms", "agreement": "0.1 ms"})"},
      {"nccl", R"({"name": "nccl"})"}};
  for (const auto& [name, stack] : stacks)
    add_benchmark(std::string("stacks/") + name, Clock::told, 3,
                  [&summary, name = std::string(name), stack = std::string(stack)](benchmark::State& state) {
                    with_and_without(state, summary, name, stack);
                  });
}

}  // namespace simsgd::bench

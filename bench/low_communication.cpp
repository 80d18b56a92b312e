// Methods that communicate every so many steps or layer by layer, time only, from the scenario file to the
// document.
#include <benchmark/benchmark.h>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

struct Case {
  const char *name, *what;
  Overrides overrides;
  double limit_s;
};

const Case kCases[] = {
    {"diloco", "DiLoCo, 1,024 workers x 1,000 steps, H = 32", {}, 3},
    {"diloco",
     "streaming DiLoCo, 1,024 workers x 1,000 steps, 4 fragments",
     {{{"/algorithm/fragments", "4"}, {"/algorithm/overlap", "4"}, {"/algorithm/bits", "4"}}, {}},
     3},
    {"fsdp", "a step of FSDP, 32 layers on 1,024 GPUs", {}, 0.5},
    {"fsdp",
     "a step of FSDP, 32 layers on 1,024 GPUs, 1 GPU per node",
     {{{"/cluster/gpus_per_node", "1"}}, {}},
     0.5}};

void run(benchmark::State& state, Summary& summary, const Case& each) {
  const std::string file = std::string(SIMSGD_SOURCE_DIR "/bench/") + each.name + ".json";
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun measured = time_scenario(state, file, each.overrides);
    summary.time(each.what, measured.elapsed, each.limit_s);
    summary.memory(std::string("memory of that, ") + each.what, measured.peak_bytes, 300e6);
  }
}

}  // namespace

void register_low_communication(Summary& summary) {
  for (const Case& each : kCases)
    add_benchmark(std::string("low_communication/") + each.what, Clock::told, 3,
                  [&summary, &each](benchmark::State& state) { run(state, summary, each); });
}

}  // namespace simsgd::bench

// Methods in which workers do not wait for all others, time only, as `simsgd run` does it: the cluster and
// the delays of timing_only.json, where the four GPUs of a node share its NIC.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/bare_programs.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kGossipScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

struct GossipCase {
  const char* algorithm;
  double limit_s;
  double (*bare_s)(const Job&);
  // Both end alike to 1e-9. Rounding grows in SGP: a message that begins later ends later by twice as much
  // where it meets another, which ends earlier. 1e-16 s more latency moves the end of 1,000 steps by 7 ms of
  // 305 s.
  int compared_steps = 1000;
};

void gossip(benchmark::State& state, Summary& summary, const GossipCase& each, int workers) {
  const int steps = workers == 64 ? 100 : 1000;
  const auto with_steps = [&](int count) {
    return Overrides{{{"/algorithm", fmt::format(R"({{"name": "{}"}})", each.algorithm)},
                      {"/cluster/workers", std::to_string(workers)},
                      {"/stop/steps", std::to_string(count)}},
                     {}};
  };
  for ([[maybe_unused]] auto _ : state) {
    const std::string what =
        fmt::format("{}, {} workers x {} steps, 4 GPUs behind a NIC", each.algorithm, workers, steps);
    const ScenarioRun run = time_scenario_beside(
        state, kGossipScenario, with_steps(steps), each.bare_s,
        each.compared_steps < steps ? std::optional(with_steps(each.compared_steps)) : std::nullopt);
    summary.time(what, run.elapsed, workers == 64 ? 0.1 : each.limit_s);
    summary.ratio(what + " / bare event loop", run.elapsed, run.bare, 0);
    summary.memory("memory of " + what, run.peak_bytes, 1e9);
  }
}

}  // namespace

void register_gossip(Summary& summary) {
  static constexpr GossipCase kCases[] = {{"wagma", 8, bare_wagma_s},
                                          {"eager_sgd", 8, bare_eager_sgd_s},
                                          {"nonblocking", 8, bare_nonblocking_s},
                                          {"ad_psgd", 4, bare_ad_psgd_s},
                                          {"d_psgd", 3, bare_d_psgd_s},
                                          {"sgp", 3, bare_sgp_s, 50}};
  for (const GossipCase& each : kCases)
    for (const int workers : {64, 1024})
      add_benchmark(
          fmt::format("gossip/{}/{}", each.algorithm, workers), Clock::told, 1,
          [&summary, &each, workers](benchmark::State& state) { gossip(state, summary, each, workers); });
}

}  // namespace simsgd::bench

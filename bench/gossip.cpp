// Methods in which workers do not wait for all others, time only, as `simsgd run` does it: the cluster and
// the delays of timing_only.json, where the four GPUs of a node share its NIC.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <numeric>

#include "algorithms/exchange.hpp"
#include "analysis/runner.hpp"
#include "bench/bare_gossip.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kGossipScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

Plan exchange_plan(const Job& job) {
  const Bucket whole = make_buckets(job.workload, ModelFusion()).buckets.front();
  const double bytes = whole.parameters * job.workload.bytes_per_parameter;
  Schedule schedule;
  schedule.ranks = schedule.blocks = job.workers();
  schedule.concurrent = true;
  for (const auto& to : edge_messages(job.graph)) schedule.stages.push_back(make_stage(to, bytes, bytes));
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return Plan(std::move(schedule), job.cluster, ranks, bytes, whole.tensors);
}

double bare_s(const Job& job) { return bare_d_psgd_s(job, exchange_plan(job)); }

void gossip(benchmark::State& state, Summary& summary, const std::string& algorithm, int workers,
            double limit_s) {
  const int steps = workers == 64 ? 100 : 1000;
  const Overrides overrides{{{"/algorithm", fmt::format(R"({{"name": "{}"}})", algorithm)},
                             {"/cluster/workers", std::to_string(workers)},
                             {"/stop/steps", std::to_string(steps)}},
                            {}};
  for ([[maybe_unused]] auto _ : state) {
    const std::string what =
        fmt::format("{}, {} workers x {} steps, 4 GPUs behind a NIC", algorithm, workers, steps);
    const bool has_bare = algorithm == "d_psgd";
    const ScenarioRun run = has_bare ? time_scenario_beside(state, kGossipScenario, overrides, bare_s)
                                     : time_scenario(state, kGossipScenario, overrides);
    summary.time(what, run.elapsed, limit_s);
    if (has_bare) summary.ratio(what + " / bare event loop", run.elapsed, run.bare, 0);
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

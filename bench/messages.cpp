// Collectives with every message. CI runs those of 64 ranks, so that they do not rot.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "bench/bare_ring.hpp"
#include "bench/bare_stages.hpp"
#include "bench/benchmarks.hpp"
#include "bench/networks.hpp"
#include "sim/engine/simulate_plans.hpp"

namespace simsgd::bench {

namespace {

void check_equal(double simulated_s, double bare_s) {
  if (!(std::fabs(simulated_s - bare_s) <= 1e-9 * bare_s))
    throw std::runtime_error(fmt::format("it takes {} s, and {} s by the bare program", simulated_s, bare_s));
}

// 1 MiB on ports of unequal speed, beside a bare loop over the same messages, which must give the same time.
void ring_of_messages(benchmark::State& state, Summary& summary, int ranks, double limit_s) {
  const Cluster cluster = unequal_star(ranks);
  const Plan plan = all_reduce_plan(cluster, "ring", 1048576);
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    const double simulated_s = simulate_plans(cluster, {{&plan, Fidelity::messages}}, nullptr).front();
    const Elapsed elapsed = watch.elapsed();
    const Stopwatch bare_watch;
    const double bare_s = bare_ring_s(cluster, 1048576);
    const Elapsed bare = bare_watch.elapsed();
    check_equal(simulated_s, bare_s);
    state.SetIterationTime(elapsed.wall_s);
    const std::string what = fmt::format("ring of {} ranks, 1 MiB, every message", ranks);
    summary.time(what, elapsed, limit_s);
    summary.ratio(what + " / bare event loop", elapsed, bare, 10);
  }
}

void behind_one_nic(benchmark::State& state, Summary& summary, const std::string& schedule, int ranks,
                    double limit_s) {
  const Cluster cluster = shared_star(ranks / 8, 8);
  const Plan plan = all_reduce_plan(cluster, schedule, 1e8);
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    const double simulated_s = simulate_plans(cluster, {{&plan, Fidelity::messages}}, nullptr).front();
    const Elapsed elapsed = watch.elapsed();
    const Stopwatch bare_watch;
    const double bare_s = bare_stages_s(cluster, plan.schedule());
    const Elapsed bare = bare_watch.elapsed();
    check_equal(simulated_s, bare_s);
    state.SetIterationTime(elapsed.wall_s);
    const std::string what = fmt::format("{} of {} ranks, 8 behind one NIC, every message", schedule, ranks);
    summary.time(what, elapsed, limit_s);
    summary.ratio(what + " / bare shares of links", elapsed, bare, 0);
  }
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime()
      ->Iterations(1);
}

}  // namespace

void register_messages(Summary& summary) {
  for (const auto& [ranks, limit_s] : {std::pair{64, 0.01}, {256, 0.1}, {1024, 1.5}, {4096, 25.0}})
    add(fmt::format("messages/ring/{}", ranks),
        [&summary, ranks = ranks, limit_s = limit_s](benchmark::State& state) {
          ring_of_messages(state, summary, ranks, limit_s);
        });
  const struct {
    const char* schedule;
    double limit_s;
  } cases[] = {{"hierarchical", 0.3}, {"rabenseifner", 3}, {"recursive_doubling", 2}};
  for (const auto& [schedule, limit_s] : cases)
    for (const int ranks : {64, 16384})
      add(fmt::format("messages/{}/{}", schedule, ranks),
          [&summary, schedule = schedule, ranks, limit_s = limit_s](benchmark::State& state) {
            behind_one_nic(state, summary, schedule, ranks, limit_s);
          });
}

}  // namespace simsgd::bench

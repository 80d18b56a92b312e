// Collectives at `flows`, each benchmark in a child.
#include <benchmark/benchmark.h>

#include "bench/benchmarks.hpp"
#include "bench/networks.hpp"
#include "bench/scenario_run.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd::bench {

namespace {

constexpr int kOperations = 100;

// Time of one of a hundred operations in a row, their share of the platform included.
void ring(benchmark::State& state, Summary& summary, const std::string& what, const Cluster& cluster) {
  const Plan plan = all_reduce_plan(cluster, "ring", 1e8);
  for ([[maybe_unused]] auto _ : state) {
    const ChildRun run = run_in_child([&] {
      const std::vector<PlanToSimulate> plans(kOperations, {&plan, Fidelity::flows});
      const Stopwatch watch;
      simulate_plans(cluster, plans, nullptr);
      const Elapsed elapsed = watch.elapsed();
      return std::vector<double>{elapsed.wall_s / kOperations, elapsed.cpu_s / kOperations};
    });
    const Elapsed each{run.numbers.at(0), run.numbers.at(1)};
    state.SetIterationTime(each.wall_s);
    summary.time("ring of 100 MB over 1,024 ranks, " + what + ": `flows`", each, 10e-3);
  }
}

}  // namespace

void register_flows(Summary& summary) {
  const struct {
    const char *name, *what;
    Cluster cluster;
  } cases[] = {{"star", "star of unequal ports", unequal_star(1024)},
               {"fat_tree", "4:1 fat tree of 128 x 8, in order", fat_tree(128, 8, false)},
               {"fat_tree_shuffled", "4:1 fat tree of 128 x 8, nodes shuffled", fat_tree(128, 8, true)}};
  for (const auto& each : cases)
    add_benchmark(std::string("ring_1024/flows/") + each.name, Clock::told, 3,
                  [&summary, what = std::string(each.what), cluster = each.cluster](benchmark::State& state) {
                    ring(state, summary, what, cluster);
                  });
}

}  // namespace simsgd::bench

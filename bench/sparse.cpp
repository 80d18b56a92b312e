// Sparsified SGD: steps of gTop-k without a learner, from the scenario file to the document, and the
// selection of the largest entries against std::nth_element on the same data.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/sparse/sparse.hpp"
#include "bench/bare_programs.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "sim/base/random.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kSparseScenario = SIMSGD_SOURCE_DIR "/bench/gtopk.json";
constexpr std::size_t kEntries = 25'000'000, kChosen = kEntries / 1000;

void gtopk_steps(benchmark::State& state, Summary& summary, const std::string& text, double limit_s,
                 const Overrides& overrides) {
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario_beside(state, kSparseScenario, overrides, bare_gtopk_s);
    const std::string what = "gTop-k, 1,000 steps unless said, " + text;
    summary.time(what, run.elapsed, limit_s);
    summary.ratio(what + " / bare loop", run.elapsed, run.bare, 0);
  }
}

std::vector<float> normal_values() {
  Stream stream({.seed = 1, .purpose = Purpose::algorithm, .entity = 0, .step = 1});
  std::vector<float> values(kEntries);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

Elapsed nth_element(std::vector<float> values) {
  const Stopwatch watch;
  std::nth_element(values.begin(), values.begin() + (kChosen - 1), values.end(),
                   [](float a, float b) { return std::fabs(a) > std::fabs(b); });
  benchmark::DoNotOptimize(values[kChosen - 1]);
  return watch.elapsed();
}

void selection(benchmark::State& state, Summary& summary) {
  const std::vector<float> values = normal_values();
  for ([[maybe_unused]] auto _ : state) {
    const Elapsed reference = nth_element(values);
    TensorData chosen;
    const Stopwatch watch;
    select_top_k(values, kChosen, chosen);
    const Elapsed elapsed = watch.elapsed();
    benchmark::DoNotOptimize(chosen.values.data());
    state.SetIterationTime(elapsed.wall_s);
    summary.time("the 25,000 largest of 25 million entries", elapsed, 0);
    summary.ratio("the same against std::nth_element", elapsed, reference, 2);
  }
}

}  // namespace

void register_sparse(Summary& summary) {
  const auto of = [](int workers, int steps, const char* topology, const char* placement) {
    Overrides overrides{{{"/cluster/workers", std::to_string(workers)},
                         {"/cluster/nodes", std::to_string(std::max(workers, 32))},
                         {"/stop/steps", std::to_string(steps)}},
                        {}};
    if (placement) overrides.set.emplace_back("/cluster/placement", placement);
    if (topology) overrides.set.emplace_back("/cluster/topology", topology);
    return overrides;
  };
  // The cluster's own is at random.
  constexpr const char *kBlock = "block", *kRandom = nullptr, *kStar = R"({"name": "star"})";
  const struct {
    const char *name, *what;
    double limit_s;
    Overrides overrides;
  } cases[] = {{"gtopk/32", "32 workers, switches in a row", 2, of(32, 1000, nullptr, kBlock)},
               {"gtopk/64/random", "64 workers x 50 steps, switches in a row at random", 1,
                of(64, 50, nullptr, kRandom)},
               {"gtopk/64/star", "64 workers x 50 steps, one switch", 1, of(64, 50, kStar, kBlock)},
               {"gtopk/1024/star", "1,024 workers, one switch", 2, of(1024, 1000, kStar, kBlock)},
               {"gtopk/1024/random", "1,024 workers, switches in a row at random", 60,
                of(1024, 1000, nullptr, kRandom)}};
  for (const auto& each : cases)
    add_benchmark(std::string("sparse/") + each.name, Clock::told, 1,
                  [&summary, each](benchmark::State& state) {
                    gtopk_steps(state, summary, each.what, each.limit_s, each.overrides);
                  });
  add_benchmark("sparse/selection", Clock::told, 5,
                [&summary](benchmark::State& state) { selection(state, summary); });
}

}  // namespace simsgd::bench

// Sparsified SGD: steps of gTop-k without a learner, from the scenario file to the document, and the
// selection of the largest entries against std::nth_element on the same data.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "algorithms/sparse/sparse.hpp"
#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "sim/base/random.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/job.hpp"
#include "sim/roles/compute.hpp"

namespace simsgd::bench {

namespace {

// gTop-k as one would write it without a simulator, where no two messages meet: in every step a pass over the
// rounds of its merges.

/// When the last worker ends its last step.
double bare_gtopk_s(const Job& job, double density) {
  SparsificationOptions options;
  options.density = density;
  AlgorithmContext context;
  context.workers = job.workers();
  context.workload = &job.workload;
  context.cluster = &job.cluster;
  options.complete(context);
  const SparsificationSettings settings = sparsification_of(options, context);
  const double entries = settings.message_entries(0), bytes = entries * settings.bytes_per_entry;
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const Plan plan(merge_schedule({.workers = job.workers(),
                                  .entries = entries,
                                  .bytes_per_entry = settings.bytes_per_entry,
                                  .merge_s = settings.merge_s}),
                  job.cluster, ranks, bytes, 0);
  if (!plan.sharing().dedicated || job.cluster.device.communication_slowdown > 0)
    throw std::runtime_error("the bare loop knows messages that nothing meets");

  const double step_s = job.workload.step_compute_s();
  std::vector<double> time_s(ranks.size(), 0.0), end_s;
  for (std::uint64_t step = 1; step <= job.stop.steps; ++step) {
    for (std::size_t w = 0; w < ranks.size(); ++w) {
      const StepCost cost = step_cost(job, {.rank = static_cast<int>(w), .step = step}, step_s);
      time_s[w] += cost.delay_s + step_s * cost.scale * cost.straggle +
                   (settings.accumulate_s + settings.selection_s.front()) /
                       job.cluster.speed_of_rank(static_cast<int>(w)) +
                   settings.crossing_s + plan.host_before_s();
    }
    for (const StageCosts& stage : plan.stage_costs()) {
      end_s = time_s;
      for (std::size_t from = 0; from < ranks.size(); ++from) {
        if (stage.stage->to[from] < 0) continue;
        const auto to = static_cast<std::size_t>(stage.stage->to[from]);
        const double there_s = std::max(time_s[from], time_s[to]) + stage.message_s(from);
        end_s[from] = std::max(end_s[from], there_s);
        end_s[to] = std::max(end_s[to], there_s + stage.reduce_s);
      }
      time_s.swap(end_s);
    }
    for (double& each : time_s) each += plan.host_after_s();
  }
  return *std::max_element(time_s.begin(), time_s.end());
}

constexpr const char* kSparseScenario = SIMSGD_SOURCE_DIR "/bench/gtopk.json";
constexpr double kDensity = 0.001;  // of gtopk.json
constexpr std::size_t kEntries = 25'000'000, kChosen = kEntries / 1000;

// On one switch no two messages meet, and a bare loop gives the time.
void gtopk_steps(benchmark::State& state, Summary& summary, const std::string& text, double limit_s,
                 const Overrides& overrides, bool has_bare) {
  const auto bare_s = [](const Job& job) { return bare_gtopk_s(job, kDensity); };
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = has_bare ? time_scenario_beside(state, kSparseScenario, overrides, bare_s)
                                     : time_scenario(state, kSparseScenario, overrides);
    const std::string what = "gTop-k, 1,000 steps unless said, " + text;
    summary.time(what, run.elapsed, limit_s);
    if (has_bare) summary.ratio(what + " / bare loop", run.elapsed, run.bare, 0);
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
    bool has_bare = false;
  } cases[] = {{"gtopk/32", "32 workers, switches in a row", 2, of(32, 1000, nullptr, kBlock)},
               {"gtopk/64/random", "64 workers x 50 steps, switches in a row at random", 1,
                of(64, 50, nullptr, kRandom)},
               {"gtopk/64/star", "64 workers x 50 steps, one switch", 1, of(64, 50, kStar, kBlock), true},
               {"gtopk/1024/star", "1,024 workers, one switch", 2, of(1024, 1000, kStar, kBlock), true},
               {"gtopk/1024/random", "1,024 workers, switches in a row at random", 60,
                of(1024, 1000, nullptr, kRandom)}};
  for (const auto& each : cases)
    add_benchmark(std::string("sparse/") + each.name, Clock::told, 1,
                  [&summary, each](benchmark::State& state) {
                    gtopk_steps(state, summary, each.what, each.limit_s, each.overrides, each.has_bare);
                  });
  add_benchmark("sparse/selection", Clock::told, 5,
                [&summary](benchmark::State& state) { selection(state, summary); });
}

}  // namespace simsgd::bench

// Collectives without events: the recurrence over steps and ranks.
#include <benchmark/benchmark.h>

#include "bench/benchmarks.hpp"
#include "bench/networks.hpp"

namespace simsgd::bench {

namespace {

constexpr int kRanks = 1024;
constexpr std::uint32_t kSteps = 2 * (kRanks - 1);
constexpr double kBytes = 1e8;

std::vector<double> arrivals(int ranks) {
  Stream draws({3, Purpose::algorithm, 0, 0});
  std::vector<double> times;
  for (int i = 0; i < ranks; ++i) times.push_back(1e-3 * draws.uniform());
  return times;
}

Distribution jitter_distribution() { return {Distribution::Kind::lognormal, 0, 2e-6, 0.5, {}, {}}; }

void ring_by_steps(benchmark::State& state, Summary& summary) {
  const Plan plan = all_reduce_plan(unequal_star(kRanks), "ring", kBytes);
  const std::vector<double> begin = arrivals(kRanks);
  std::vector<double> ends;
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    plan.ends_by_steps(begin, nullptr, ends);
    summary.time("ring of 100 MB over 1,024 ranks, unequal links: `steps`", watch.elapsed(), 3e-3);
    benchmark::DoNotOptimize(ends.data());
  }
}

// What drawing the same numbers costs and nothing else: a Philox block for every four messages.
void draw_blocks(std::uint64_t operation) {
  std::uint32_t all = 0;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::uint32_t block = 0; block < kRanks / 4; ++block) {
      const r123::Philox4x32::ctr_type bits = r123::Philox4x32{}(
          {{(step << 14) ^ block, static_cast<std::uint32_t>(operation), 0, 7u << 8}}, {{1, 0}});
      all ^= bits[0] ^ bits[1] ^ bits[2] ^ bits[3];
    }
  }
  benchmark::DoNotOptimize(all);
}

void draw_jitter(const JitterDraws& draws, std::vector<double>& row) {
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    draws.row(step, row);
    benchmark::DoNotOptimize(row.data());
  }
}

template <class Body>
Elapsed timed(const Body& body) {
  const Stopwatch watch;
  body();
  return watch.elapsed();
}

// The three by turns, so that they meet the same noise.
void ring_with_jitter(benchmark::State& state, Summary& summary) {
  const Plan plan = all_reduce_plan(unequal_star(kRanks), "ring", kBytes);
  const JitterTable table(jitter_distribution());
  const std::vector<double> begin = arrivals(kRanks);
  std::vector<double> ends, row(kRanks);
  JitterDraws draws{&table, 1, 0, 0};
  for ([[maybe_unused]] auto _ : state) {
    ++draws.operation;
    const Elapsed ring = timed([&] { plan.ends_by_steps(begin, &draws, ends); });
    const Elapsed blocks = timed([&] { draw_blocks(draws.operation); });
    const Elapsed values = timed([&] { draw_jitter(draws, row); });
    benchmark::DoNotOptimize(ends.data());
    state.SetIterationTime(ring.wall_s);
    summary.time("the same with jitter", ring, 0);
    summary.time("bare loop of its Philox blocks", blocks, 0);
    summary.time("bare loop of its jitter values", values, 0);
    summary.ratio("jittered ring / bare Philox blocks", ring, blocks, 1.5);
    summary.ratio("jittered ring / bare jitter values", ring, values, 1.5);
  }
}

// Network, schedule, plan and result: 8,192 nodes of 8 GPUs.
void hierarchical(benchmark::State& state, Summary& summary, Fidelity fidelity) {
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    const Cluster cluster = railed_star(8192, 8);
    const Elapsed network = watch.elapsed();
    const Plan plan = all_reduce_plan(cluster, "hierarchical", kBytes);
    const std::vector<double> begin = arrivals(plan.ranks());
    std::vector<double> ends;
    if (fidelity == Fidelity::closed)
      plan.ends_by_closed_form(begin, ends);
    else
      plan.ends_by_steps(begin, nullptr, ends);
    benchmark::DoNotOptimize(ends.data());
    summary.time("65,536 ranks hierarchical: network, plan and `" + fidelity_name(fidelity) + "`",
                 watch.elapsed(), 1.0);
    summary.time("of which the network", network, 0);
  }
}

}  // namespace

void register_recurrence(Summary& summary) {
  const auto with = [&summary](auto body) {
    return [&summary, body](benchmark::State& state) { body(state, summary); };
  };
  add_benchmark("ring_1024/steps", Clock::around, 0, with(ring_by_steps));
  add_benchmark("ring_1024/steps_jitter", Clock::told, 0, with(ring_with_jitter));
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::steps})
    add_benchmark("hierarchical_65536/" + fidelity_name(fidelity), Clock::around, 5,
                  [&summary, fidelity](benchmark::State& state) { hierarchical(state, summary, fidelity); });
}

}  // namespace simsgd::bench

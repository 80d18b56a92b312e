// Runs without a learner, as `simsgd run` does them, from the scenario file to the document: many steps of
// 1,024 workers and a few of very many, beside a bare loop over the same draws and the same all-reduces,
// which must end at the same instant.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "algorithms/buckets.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "sim/job.hpp"
#include "sim/roles/compute.hpp"

namespace simsgd::bench {

namespace {

// Steps of synchronous SGD as one would write them for this alone: one pass over an array of times for what
// each worker computes, one for each all-reduce.

struct Sum {
  Plan plan;
  Fidelity fidelity;
  double ready_s;     // from the begin of the step's computing
  double occupies_s;  // the device, as predicted
  std::vector<double> posted_s;
};

std::vector<Sum> sums_of(const Job& job) {
  const Buckets buckets = make_buckets(job.workload, FusionSettings());
  const PassTimes times(job.workload);
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<Sum> sums;
  const double before_s =
      (job.workload.micro_batches - 1) * (times.forward_s + times.backward_s) + times.forward_s;
  for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
    const Bucket& bucket = buckets.buckets[i];
    Plan plan = plan_by_policy(job.network.collectives, job.cluster, ranks,
                               {CollectiveOp::all_reduce,
                                bucket.parameters * job.workload.bytes_per_parameter,
                                0,
                                bucket.tensors,
                                {}});
    const Fidelity fidelity = plan.choose(job.network.fidelity, false, Beside::computing).fidelity;
    if (fidelity != Fidelity::closed && fidelity != Fidelity::steps)
      throw std::runtime_error("the bare loop knows `closed` and `steps`");
    const double occupies_s = predicted_s(plan);
    sums.push_back({std::move(plan), fidelity, before_s + times.tensor_ready_s[buckets.last_tensors[i]],
                    occupies_s, std::vector<double>(ranks.size())});
  }
  return sums;
}

/// When the last worker has ended its last step of allreduce_sgd, at `closed` or `steps`, without crashes,
/// jitter or an optimizer that takes time of its own.
double bare_steps_s(const Job& job) {
  const auto workers = static_cast<std::size_t>(job.workers());
  std::vector<Sum> sums = sums_of(job);
  const double step_s = job.workload.step_compute_s();
  const double slowdown = job.cluster.device.communication_slowdown;
  std::vector<double> time_s(workers, 0.0), end_s(workers, 0.0), busy_until_s(workers, 0.0);
  for (std::uint64_t step = 1; step <= job.stop.steps; ++step) {
    for (std::size_t w = 0; w < workers; ++w) {
      const StepCost cost = step_cost(job, {.rank = static_cast<int>(w), .step = step}, step_s);
      double now_s = time_s[w] + cost.delay_s, done_s = 0;
      // Until the device has communicated it computes slower.
      const auto compute_to = [&](double nominal_s) {
        const double work_s = (nominal_s - done_s) * cost.scale * cost.straggle;
        const double slow_s = std::clamp((busy_until_s[w] - now_s) / (1 + slowdown), 0.0, work_s);
        now_s += work_s + slow_s * slowdown;
        done_s = nominal_s;
      };
      for (Sum& sum : sums) {
        compute_to(sum.ready_s);
        sum.posted_s[w] = now_s;
        busy_until_s[w] = std::max(busy_until_s[w], now_s) + sum.occupies_s;
      }
      compute_to(step_s);
      time_s[w] = now_s;
    }
    for (Sum& sum : sums) {
      // One after another on each worker.
      for (std::size_t w = 0; w < workers; ++w) sum.posted_s[w] = std::max(sum.posted_s[w], end_s[w]);
      if (sum.fidelity == Fidelity::closed)
        sum.plan.ends_by_closed_form(sum.posted_s, end_s);
      else
        sum.plan.ends_by_steps(sum.posted_s, nullptr, end_s);
    }
    for (std::size_t w = 0; w < workers; ++w) time_s[w] = std::max(time_s[w], end_s[w]);
  }
  return *std::max_element(time_s.begin(), time_s.end());
}

constexpr const char* kTimingScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

struct TimingCase {
  const char* name;
  int workers, gpus_per_node, steps;
  double limit_s, limit_bytes;
};

Overrides overrides_of(const TimingCase& each) {
  return {{{"/cluster/workers", std::to_string(each.workers)},
           {"/cluster/gpus_per_node", std::to_string(each.gpus_per_node)},
           {"/stop/steps", std::to_string(each.steps)}},
          {}};
}

void timing_only(benchmark::State& state, Summary& summary, const TimingCase& each) {
  for ([[maybe_unused]] auto _ : state) {
    const ScenarioRun run = time_scenario_beside(state, kTimingScenario, overrides_of(each), bare_steps_s);
    const std::string what = fmt::format("Allreduce-SGD, {} workers x {} steps, log-normal delays, `{}`",
                                         each.workers, each.steps, each.name);
    summary.time(what, run.elapsed, each.limit_s);
    summary.ratio(what + " / bare loop", run.elapsed, run.bare, 0);
    summary.memory("memory of " + what, run.peak_bytes, each.limit_bytes);
  }
}

}  // namespace

void register_timing_only(Summary& summary) {
  static constexpr TimingCase kCases[] = {
      {"closed", 64, 1, 100, 0.1, 100e6},    {"steps", 64, 4, 100, 0.1, 100e6},
      {"closed", 1024, 1, 1000, 0.6, 300e6}, {"steps", 1024, 4, 1000, 1.5, 300e6},
      {"closed", 16384, 1, 20, 0.3, 8e9},    {"closed", 30000, 1, 20, 0.6, 8e9},
      {"closed", 65536, 1, 20, 1.5, 8e9},    {"closed", 1048576, 1, 20, 30, 8e9},
      {"steps", 65536, 4, 20, 3, 8e9},       {"steps", 1048576, 4, 20, 60, 8e9}};
  for (const TimingCase& each : kCases)
    add_benchmark(fmt::format("timing_only/{}/{}", each.name, each.workers), Clock::told,
                  each.workers > 65536 ? 1 : 3,
                  [&summary, &each](benchmark::State& state) { timing_only(state, summary, each); });
}

}  // namespace simsgd::bench

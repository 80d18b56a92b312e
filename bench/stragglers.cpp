// What a step's stragglers cost, compute_noise against ar1; and what a fit of them costs.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "analysis/calibration/straggler_fit.hpp"
#include "bench/benchmarks.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd::bench {

namespace {

constexpr int kWorkers = 1024;
constexpr std::uint64_t kStragglerSteps = 200;

Elapsed applied(const std::string& options) {
  const auto model = make_straggler(Json::parse(options), {.workers = kWorkers});
  const Stopwatch watch;
  Straggle all;
  for (std::uint64_t step = 1; step <= kStragglerSteps; ++step)
    for (int rank = 0; rank < kWorkers; ++rank) {
      Straggle one;
      model->apply({.rank = rank, .workers = kWorkers, .step = step, .nominal_compute_s = 1}, one);
      all.factor += one.factor;
    }
  benchmark::DoNotOptimize(all.factor);
  return watch.elapsed();
}

// By turns, so that all meet the same noise.
void apply_noise(benchmark::State& state, Summary& summary) {
  for ([[maybe_unused]] auto _ : state) {
    const Elapsed ar1 = applied(R"({"name": "ar1", "cv": 0.05, "correlation": 0.5})");
    const Elapsed fast = applied(R"({"name": "compute_noise", "fast": {"cv": 0.05, "correlation": 0.5}})");
    const Elapsed gamma = applied(
        R"({"name": "compute_noise", "fast": {"cv": 0.05, "correlation": 0.5, "floor": 0.8, "family": "gamma"}})");
    const Elapsed all = applied(R"({"name": "compute_noise", "fast": {"cv": 0.05, "correlation": 0.5},
      "slow": {"cv": 0.05, "correlation_steps": 20}, "common": {"cv": 0.02, "correlation_steps": 5}})");
    summary.time("stragglers of 1,024 workers x 200 steps: ar1", ar1, 0);
    summary.ratio("compute_noise, fast noise only / ar1", fast, ar1, 1.3);
    summary.ratio("compute_noise, gamma above a floor / ar1", gamma, ar1, 1.5);
    summary.ratio("compute_noise, fast, slow and common / ar1", all, ar1, 4);
  }
}

void fit(benchmark::State& state, Summary& summary) {
  calibration::StragglerParameters truth;
  truth.base_s = 0.2;
  truth.factors.assign(10, 1.0);
  truth.fast_cvs = truth.slow_cvs = std::vector<double>(10, 0.04);
  truth.slow_steps = 12;
  truth.common_cv = 0.02;
  const calibration::StepTable steps = calibration::simulated_steps(truth, 150, 1);
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    calibration::fit_stragglers(steps, {});
    summary.time("fit of stragglers, 10 workers x 150 steps, 200 refits and 200 draws of p-values",
                 watch.elapsed(), 10);
  }
}

}  // namespace

void register_stragglers(Summary& summary) {
  add_benchmark("stragglers/apply", Clock::around, 5,
                [&summary](benchmark::State& state) { apply_noise(state, summary); });
  add_benchmark("stragglers/fit", Clock::around, 1,
                [&summary](benchmark::State& state) { fit(state, summary); });
}

}  // namespace simsgd::bench

// Fits: 3,000 all-reduces of a ring with what the library adds, and the bootstrap and left-out parts beside
// it; 30 throughputs, each of which is a simulation.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "analysis/calibration/calibrate.hpp"
#include "bench/benchmarks.hpp"
#include "sim/base/random.hpp"

namespace simsgd::bench {

namespace {

constexpr int kPointsOfEach = 1000;

Spec ring_spec() {
  Spec spec;
  spec.file = spec.name = "bench";
  spec.scenario = Json::parse(R"({"cluster": {
      "name": "c", "device": {"name": "D", "peak_flops": "1 TFLOPS"}, "gpus_per_node": 8,
      "gpu_link": {"bandwidth": "300 GB/s"}, "nic": {"bandwidth": "10 GB/s", "latency": "1 us"},
      "topology": {"name": "star"}, "host": {"launch": 0, "tensor": 0, "pack": 0, "staged": false, "reduce": 0},
      "collectives": {"all_reduce": [{"schedule": "ring"}]}}})");
  spec.predict.emplace_back();
  using Scales = ParameterSpec::Scales;
  ModelSpec& ring = spec.models.emplace_back();
  ring.name = "ring";
  const auto fit = [&](const char* name, const char* pointer, double low, double high, Scales scales) {
    ParameterSpec& parameter = ring.parameters.emplace_back();
    parameter.name = name;
    parameter.pointers = {pointer};
    parameter.low = low;
    parameter.high = high;
    parameter.scales = scales;
  };
  fit("launch", "/cluster/collectives/all_reduce/0/launch", 1e-7, 1e-3, Scales::with_time);
  fit("latency", "/cluster/gpu_link/latency", 1e-8, 1e-4, Scales::with_time);
  fit("bandwidth", "/cluster/gpu_link/bandwidth", 1e9, 3e11, Scales::against_time);
  return spec;
}

std::vector<Measurement> measurements() {
  std::vector<Measurement> all;
  Stream stream({.seed = 1, .purpose = Purpose::resampling, .entity = 9, .step = 0});
  for (const int workers : {2, 4, 8}) {
    for (int i = 1; i <= kPointsOfEach; ++i) {
      Measurement& each = all.emplace_back();
      each.quantity = "time_s";
      each.operation = "all_reduce";
      each.workers = workers;
      each.bytes = i * 1048576.0;
      each.value = (3e-5 + 2 * (workers - 1) * (2e-6 + each.bytes / workers / 2e11)) *
                   std::exp(0.03 * stream.normal());
    }
  }
  return all;
}

void fit_collectives(benchmark::State& state, Summary& summary) {
  const Spec spec = ring_spec();
  const Points points = make_points(spec, spec.models[0], measurements());
  const Fitter fitter(spec, spec.models[0], points, {});
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch fitting;
    const Fitted fitted = fitter.fit(fitter.weighted(fitter.fitted_points()));
    summary.time("fit of 3,000 all-reduces", fitting.elapsed(), 2);
    const Stopwatch drawing;
    const std::vector<LeftOut> left_out = cross_validate(fitter, &fitted);
    benchmark::DoNotOptimize(draw_parameters(fitter, fitted, left_out));
    summary.time("... and 200 draws, with each octave left out", drawing.elapsed(), 60);
  }
}

constexpr double kNoise = 0.02;

/// Throughputs of three networks, two ways to send gradients and 2 to 32 GPUs: what the middle of the bounds
/// gives, and noise.
Points throughputs(const Spec& spec) {
  std::vector<Measurement> rows;
  for (const char* network : {"ResNet-50", "BERT-Base", "BERT-Large"})
    for (const char* method : {"BSP-A2A", "WFBP-A2A"})
      for (const int workers : {2, 4, 8, 16, 32}) {
        Measurement& each = rows.emplace_back();
        each.quantity = "throughput_samples_per_s";
        each.workers = workers;
        each.value = 1;
        each.labels = {{"network", network}, {"method", method}};
      }
  Points points = make_points(spec, spec.models[0], rows);
  Fitted truth;
  for (const ParameterSpec& each : spec.models[0].parameters)
    truth.values.push_back(value_at(each, (2 * scale_of(each, each.low) + scale_of(each, each.high)) / 3));
  std::vector<std::size_t> all(points.points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<double> values = Predictor(points, {}).predict(patch_of(spec.models[0], truth), all);
  Stream stream({.seed = 2, .purpose = Purpose::resampling, .entity = 9, .step = 0});
  for (const std::size_t i : all)
    points.points[i].measurement.value = values[i] * std::exp(kNoise * stream.normal());
  return points;
}

void fit_runs(benchmark::State& state, Summary& summary) {
  Spec spec = load_spec(SIMSGD_SOURCE_DIR "/scenarios/calibration/throughput_10gbe.json");
  spec.tests.clear();
  spec.fit.where = {};
  const Points points = throughputs(spec);
  for ([[maybe_unused]] auto _ : state) {
    const Fitter fitter(spec, spec.models[0], points, {.jobs = 2});
    const double before_s = children_cpu_s();
    const Stopwatch fitting;
    benchmark::DoNotOptimize(fitter.fit(fitter.weighted(fitter.fitted_points())));
    Elapsed elapsed = fitting.elapsed();
    elapsed.cpu_s += children_cpu_s() - before_s;
    summary.time("fit of 30 throughputs, each a simulation", elapsed, 10);
    state.counters["simulations"] = static_cast<double>(fitter.memo().metrics.size());
  }
}

}  // namespace

void register_calibration(Summary& summary) {
  add_benchmark("calibration/collectives", Clock::around, 3,
                [&summary](benchmark::State& state) { fit_collectives(state, summary); });
  add_benchmark("calibration/throughputs", Clock::around, 1,
                [&summary](benchmark::State& state) { fit_runs(state, summary); });
}

}  // namespace simsgd::bench

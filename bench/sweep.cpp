// A sweep of short points into a store, one job at a time: all of its processes' CPU time, against simulating
// the same jobs one after another. With all 10,000 points, again with nothing left to do, and by shards:
// sweep.sh.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "analysis/runs/sweep.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "scenarios/language/point_loader.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kSweepStudy = SIMSGD_SOURCE_DIR "/scenarios/studies/bench_10k.json";

// Wall and CPU seconds of the sweep and of the bare loop, and the number of points.
std::vector<double> sweep_and_loop() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("simsgd_bench_sweep.{}", getpid());
  std::filesystem::create_directories(folder);
  SweepSettings settings;
  settings.database = folder / "bench.db";
  std::vector<double> ends_s;
  const Stopwatch watch;
  const Study study = expand_study(kSweepStudy, {{{"/seeds", "1"}}, {}});
  run_sweep(
      study, settings,
      {.begin = {},
       .result =
           [&](const PointResult& point) { ends_s.push_back(point.run().metrics.at("simulated_time_s")); },
       .progress = {}});
  Elapsed sweep = watch.elapsed();
  sweep.cpu_s += children_cpu_s();
  std::filesystem::remove_all(folder);
  PointLoader loader(study);
  Elapsed loop;
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    loader.load(study.points[i]);
    const Job& job = loader.job();
    const Stopwatch one;
    const double end_s = simulate(job, {}).record.end_s;
    loop.wall_s += one.elapsed().wall_s;
    loop.cpu_s += one.elapsed().cpu_s;
    if (!(std::fabs(end_s - ends_s.at(i)) <= 1e-9 * end_s))
      throw std::runtime_error(
          fmt::format("point {} ends at {} s in the sweep, and at {} s", i, ends_s[i], end_s));
  }
  return {sweep.wall_s, sweep.cpu_s, loop.wall_s, loop.cpu_s, static_cast<double>(ends_s.size())};
}

}  // namespace

void register_sweep(Summary& summary) {
  add_benchmark("sweep/64/seeds_1", Clock::told, 1, [&summary](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
      const std::vector<double> run = run_in_child(sweep_and_loop).numbers;
      state.SetIterationTime(run.at(0));
      const Elapsed sweep{run.at(0), run.at(1)};
      const std::string what = fmt::format("a sweep of {} points, 64 workers x 20 steps", run.at(4));
      summary.time(what, sweep, run.at(4) / 1000);
      summary.ratio(what + " / bare simulations", sweep, {run.at(2), run.at(3)}, 0);
    }
  });
}

}  // namespace simsgd::bench

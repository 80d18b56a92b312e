// Runs that learn: how much of the time is the gradients, and what many replicas need of memory.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "analysis/runner.hpp"
#include "bench/bare_training.hpp"
#include "bench/benchmarks.hpp"
#include "bench/child.hpp"
#include "bench/scenario_run.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::bench {

namespace {

constexpr const char* kLearningScenario = SIMSGD_SOURCE_DIR "/bench/learning.json";

std::shared_ptr<const DataSet> fashion_mnist() {
  for (const DataPlugin& plugin : data_plugins())
    if (plugin.info.name == "fashion_mnist")
      return plugin
          .make(Json::object(),
                {.seed = 1, .resolve = [](const std::string& path) { return std::filesystem::path(path); }})
          .train;
  throw std::runtime_error("no data set fashion_mnist");
}

// Wall and CPU seconds of the simulation, of the same training in a bare loop, and of the learner's own
// gradients in it; and the last loss of the first two. Data sets are loaded before.
std::vector<double> compare(int threads, bool images) {
  const Overrides cnn = {{{"/learner/model", R"({"name": "cnn"})"}, {"/stop/steps", "20"}}, {}};
  const Job job = make_job(load_scenario(kLearningScenario, images ? cnn : Overrides{}));
  const std::shared_ptr<const DataSet> data = fashion_mnist();
  const auto steps = static_cast<int>(job.stop.steps);
  const Stopwatch bare_watch;
  const std::vector<double> losses =
      train_bare({job.workers(), steps, threads}, images ? bare_cnn(*data) : bare_mlp(*job.learner, *data),
                 *job.learner, *data);
  const Elapsed bare = bare_watch.elapsed();
  SimulationOptions options;
  options.threads = threads;
  const Stopwatch watch;
  const SimulationResult result = simulate(job, options);
  const Elapsed simulated = watch.elapsed();
  const double loss = result.record.series.back().train_loss;
  if (!(std::fabs(loss - losses.back()) < 1e-3 * loss))
    throw std::runtime_error(
        fmt::format("the bare loop ends at loss {}, the simulation at {}", losses.back(), loss));
  return {simulated.wall_s, simulated.cpu_s, bare.wall_s, bare.cpu_s};
}

void against_bare_loop(benchmark::State& state, Summary& summary, int threads, bool images) {
  for ([[maybe_unused]] auto _ : state) {
    const ChildRun run = run_in_child([=] { return compare(threads, images); });
    const Elapsed simulated{run.numbers.at(0), run.numbers.at(1)}, bare{run.numbers.at(2), run.numbers.at(3)};
    state.SetIterationTime(simulated.wall_s);
    const std::string what = fmt::format("64 workers x {} on Fashion-MNIST, {} thread(s)",
                                         images ? "20 steps of a cnn" : "100 steps", threads);
    summary.time(what, simulated, 0);
    summary.ratio(what + " / bare Eigen loop", simulated, bare, 1.3);
  }
}

void many_replicas(benchmark::State& state, Summary& summary) {
  for ([[maybe_unused]] auto _ : state) {
    const Overrides overrides = {{{"/cluster/workers", "1024"}, {"/stop/steps", "10"}}, {}};
    const ScenarioRun run = time_scenario(state, kLearningScenario, overrides, 2);
    summary.time("1,024 workers x 10 steps, model of 50,890 parameters", run.elapsed, 0);
    summary.memory("memory of that", run.peak_bytes, 1.5e9);
  }
}

}  // namespace

void register_learning(Summary& summary) {
  const auto compare = [&summary](const char* name, int threads, bool images) {
    benchmark::RegisterBenchmark(fmt::format("learning_64/{}", name).c_str(),
                                 [&summary, threads, images](benchmark::State& state) {
                                   against_bare_loop(state, summary, threads, images);
                                 })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(3);
  };
  compare("threads_1", 1, false);
  compare("threads_2", 2, false);
  compare("cnn", 1, true);
  benchmark::RegisterBenchmark("learning_1024",
                               [&summary](benchmark::State& state) { many_replicas(state, summary); })
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime()
      ->Iterations(1);
}

}  // namespace simsgd::bench

#include "bench/scenario_run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "analysis/runner.hpp"

namespace simsgd::bench {

ScenarioRun time_scenario(benchmark::State& state, const std::string& file, const Overrides& overrides,
                          int threads) {
  const ChildRun run = run_in_child([&] {
    const Stopwatch watch;
    SimulationOptions options;
    options.threads = threads;
    const RunOutcome outcome = run_scenario(load_scenario(file, overrides), options);
    benchmark::DoNotOptimize(outcome.document.dump().size());
    const Elapsed elapsed = watch.elapsed();
    return std::vector<double>{elapsed.wall_s, elapsed.cpu_s};
  });
  state.SetIterationTime(run.numbers.at(0));
  state.counters["MB"] = run.peak_bytes / 1e6;
  return {{run.numbers.at(0), run.numbers.at(1)}, {}, run.peak_bytes};
}

ScenarioRun time_scenario_beside(benchmark::State& state, const std::string& file, const Overrides& overrides,
                                 const std::function<double(const Job&)>& bare_s,
                                 const std::optional<Overrides>& compared) {
  const auto simulated_end_s = [&](const Overrides& with) {
    const RunOutcome outcome = run_scenario(load_scenario(file, with), {});
    benchmark::DoNotOptimize(outcome.document.dump().size());
    return outcome.document.at("metrics").at("simulated_time_s").get<double>();
  };
  const ChildRun run = run_in_child([&] {
    const Stopwatch watch;
    double simulated_s = simulated_end_s(overrides);
    const Elapsed whole = watch.elapsed();
    const Job job = make_job(load_scenario(file, overrides));
    const Stopwatch bare_watch;
    double expected_s = bare_s(job);
    const Elapsed bare = bare_watch.elapsed();
    if (compared) {
      simulated_s = simulated_end_s(*compared);
      expected_s = bare_s(make_job(load_scenario(file, *compared)));
    }
    if (!(std::fabs(simulated_s - expected_s) <= 1e-9 * expected_s))
      throw std::runtime_error(
          fmt::format("the run ends at {} s, and at {} s by the bare program", simulated_s, expected_s));
    return std::vector<double>{whole.wall_s, whole.cpu_s, bare.wall_s, bare.cpu_s};
  });
  state.SetIterationTime(run.numbers.at(0));
  state.counters["MB"] = run.peak_bytes / 1e6;
  return {{run.numbers.at(0), run.numbers.at(1)}, {run.numbers.at(2), run.numbers.at(3)}, run.peak_bytes};
}

namespace {

[[noreturn]] void run_and_exit(const std::function<std::vector<double>()>& body, int file) {
  try {
    const std::vector<double> numbers = body();
    const std::size_t size = numbers.size() * sizeof(double);
    _exit(write(file, numbers.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    _exit(1);
  }
}

}  // namespace

ChildRun run_in_child(const std::function<std::vector<double>()>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) run_and_exit(body, ends[1]);
  close(ends[1]);
  ChildRun run;
  for (double number = 0; read(ends[0], &number, sizeof number) == sizeof number;)
    run.numbers.push_back(number);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("a child ended with status {}", status));
  run.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  return run;
}

}  // namespace simsgd::bench

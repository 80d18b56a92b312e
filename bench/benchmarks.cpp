#include "bench/benchmarks.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace simsgd::bench {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

Elapsed now() {
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(),
          static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
}

void keep_least(Elapsed& best, const Elapsed& fresh) {
  best.wall_s = std::min(best.wall_s, fresh.wall_s);
  best.cpu_s = std::min(best.cpu_s, fresh.cpu_s);
}

std::string seconds(double value) {
  return value < 0.1 ? fmt::format("{:.3g} ms", value * 1e3) : fmt::format("{:.3g} s", value);
}

}  // namespace

Stopwatch::Stopwatch() : begin_(now()) {}

Elapsed Stopwatch::elapsed() const {
  const Elapsed end = now();
  return {end.wall_s - begin_.wall_s, end.cpu_s - begin_.cpu_s};
}

double children_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void add_benchmark(const std::string& name, Clock clock, int iterations,
                   const std::function<void(benchmark::State&)>& body) {
  benchmark::internal::Benchmark* const added = benchmark::RegisterBenchmark(name.c_str(), body);
  added->Unit(benchmark::kMillisecond);
  if (clock == Clock::told) added->UseManualTime();
  if (iterations > 0) added->Iterations(iterations);
}

Summary::Row& Summary::row(const std::string& what, Row::Kind kind, double limit) {
  const auto same =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.what == what; });
  if (same != rows_.end()) return *same;
  return rows_.emplace_back(Row{what, kind, {kNone, kNone}, {kNone, kNone}, limit});
}

void Summary::time(const std::string& what, const Elapsed& elapsed, double limit_s) {
  keep_least(row(what, Row::Kind::time, limit_s).best, elapsed);
}

void Summary::ratio(const std::string& what, const Elapsed& elapsed, const Elapsed& reference, double limit) {
  Row& kept = row(what, Row::Kind::ratio, limit);
  keep_least(kept.best, elapsed);
  keep_least(kept.best_reference, reference);
}

void Summary::memory(const std::string& what, double bytes, double limit_bytes) {
  keep_least(row(what, Row::Kind::memory, limit_bytes).best, {bytes, bytes});
}

std::string Summary::table() const {
  std::string text = "| what | wall | CPU | limit | wall / limit |\n|---|---|---|---|---|\n";
  for (const Row& row : rows_) {
    double measured = row.best.wall_s;
    std::string wall, cpu, limit;
    if (row.kind == Row::Kind::time) {
      wall = seconds(row.best.wall_s);
      cpu = seconds(row.best.cpu_s);
      limit = seconds(row.limit);
    } else if (row.kind == Row::Kind::ratio) {
      measured = row.best.wall_s / row.best_reference.wall_s;
      wall = fmt::format("{:.2f}x", measured);
      cpu = fmt::format("{:.2f}x", row.best.cpu_s / row.best_reference.cpu_s);
      limit = fmt::format("{:.2g}x", row.limit);
    } else {
      wall = fmt::format("{:.0f} MB", measured / 1e6);
      limit = fmt::format("{:.0f} MB", row.limit / 1e6);
    }
    const bool limited = row.limit > 0;
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row.what, wall, cpu, limited ? limit : "",
                        limited ? fmt::format("{:.2f}", measured / row.limit) : "");
  }
  return text;
}

}  // namespace simsgd::bench

// Measurements out of 100 MB of nccl-tests' text: tables of 30 sizes with their
// headings.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "bench/benchmarks.hpp"
#include "traces/import.hpp"
#include "traces/measurements.hpp"

namespace simsgd::bench {

namespace {

constexpr std::size_t kText_bytes = 100'000'000;
constexpr int kLogRanks = 16;

std::string heading() {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
      "#\n# Using devices\n";
  for (int rank = 0; rank < kLogRanks; ++rank)
    text += fmt::format("#   Rank {:2d} Pid {:6d} on node-{:06d} device {:2d} [0x00] A100-SXM4-40GB\n", rank,
                        1000 + rank, rank / 8, rank % 8);
  return text +
         "#\n#                                                              out-of-place                       in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
}

// Times of 30 us + size / 100 GB/s, and a digit that differs from table to table: no two are alike.
std::string half(double bytes, double salt) {
  const double time_us = 30 + bytes / 1e5 + salt;
  return fmt::format("  {:7.2f}  {:6.2f}  {:6.2f}      0", time_us, bytes / time_us / 1e3,
                     bytes / time_us / 1e3 * 2 * (kLogRanks - 1) / kLogRanks);
}

// A log in the directory for temporary files, removed at the end.
class Log {
 public:
  Log() : path_(std::filesystem::temp_directory_path() / fmt::format("simsgd-bench-{}.log", getpid())) {
    std::FILE* const file = std::fopen(path_.c_str(), "wb");
    const std::string begin = heading();
    for (int table = 0; written_ < kText_bytes; ++table) {
      std::string text = begin;
      for (int power = 3; power <= 32; ++power) {
        const double bytes = static_cast<double>(std::size_t{1} << power), salt = 0.01 * (table % 100);
        text += fmt::format("{:12.0f}  {:12.0f}     float     sum      -1{}{}\n", bytes, bytes / 4,
                            half(bytes, salt), half(bytes, salt + 0.5));
      }
      text += "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 60.5716\n#\n";
      written_ += file == nullptr ? kText_bytes : std::fwrite(text.data(), 1, text.size(), file);
    }
    if (file != nullptr) std::fclose(file);
  }
  ~Log() { std::filesystem::remove(path_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
  std::size_t written_ = 0;
};

ImportOptions all_reduce() {
  ImportOptions options;
  options.set = {{"operation", "all_reduce"}};
  return options;
}

void import_nccl_tests(benchmark::State& state, Summary& summary) {
  const Log log;
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    const Measurements all = import_files({log.path()}, all_reduce());
    summary.time("import of 100 MB of nccl-tests text", watch.elapsed(), 2);
    std::size_t bytes = 0;
    const Stopwatch writing;
    write_measurement_table(all.rows, [&bytes](const std::string& piece) { bytes += piece.size(); });
    summary.time("... and its table as CSV", writing.elapsed(), 0);
    state.counters["rows"] = static_cast<double>(all.rows.size());
    benchmark::DoNotOptimize(bytes);
  }
}

}  // namespace

void register_import(Summary& summary) {
  add_benchmark("import/nccl_tests", Clock::around, 3,
                [&summary](benchmark::State& state) { import_nccl_tests(state, summary); });
}

}  // namespace simsgd::bench

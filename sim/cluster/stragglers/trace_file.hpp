// The CSV file that the straggler `trace` replays: one line per worker and step, in any order.
//   column   | unit | meaning
//   worker   |      | rank, from 0
//   step     |      | whole number; the smallest of the file is the first step of the run
//   delay_s  | s    | idle before computing
//   factor   | 1    | computes this many times slower
//   compute_s| s    | took so long to compute, whatever the workload says; not together with factor
// At least one of the last three. A line that is absent means: not late. Empty lines and lines that start
// with '#' are skipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace simsgd {

struct StragglerTrace {
  struct Entry {
    std::uint64_t step = 0;  ///< from 0, the first of the trace
    double delay_s = 0;
    double factor = 1;
    double compute_s = 0;  ///< 0: not given
  };

  std::vector<std::vector<Entry>> workers;  ///< by rank, ascending by step
  std::uint64_t steps = 0;                  ///< last step - first step + 1

  /// The entry of a worker and step; null if there is none.
  const Entry* find(std::size_t worker, std::uint64_t step) const;
};

/// Throws ParameterError at "/file", with the line, for anything that is wrong with the file.
StragglerTrace read_straggler_trace(const std::filesystem::path& path);

}  // namespace simsgd

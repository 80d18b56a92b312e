// steps.csv: every worker and step of a run, simulated or real. One table says what its columns are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/curves.hpp"
#include "sim/recording/step_log.hpp"

namespace simsgd {

inline constexpr const char* kStepsFile = "steps.csv";

/// In the order of the file.
const std::vector<CurveColumn>& step_columns();

/// As CSV (RFC 4180): a line for each row, by worker, then by step.
std::string steps_csv(std::vector<StepRow> rows);

/// The values of some columns of such a file, by name; lines without a value of one are left out of that.
/// Throws ConfigError with the line where it is no such file.
struct StepValues {
  std::vector<double> steps_s;  ///< end_s - begin_s
  std::vector<double> wait_s, straggle_s, staleness;
};
StepValues read_steps(const std::filesystem::path& path);

}  // namespace simsgd

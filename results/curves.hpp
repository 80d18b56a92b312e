// The curves of a run: its learning step by step, and at each evaluation. One table says what their columns
// are; the document's series, the files and the docs are made from it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/record.hpp"
#include "sim/recording/step_log.hpp"

namespace simsgd {

struct CurveColumn {
  std::string name, unit, definition;
  std::string when_empty;  ///< in the file; null in the document. "" where it always has a value
  bool in_file = true;     ///< a list is in the document alone
};

struct Curve {
  std::string series;  ///< in the document: /series/train
  std::string file;    ///< "loss.csv"
  std::string definition;
  std::vector<CurveColumn> columns;
};
const std::vector<Curve>& curves();

/// The document's `series`: for each curve a list of points, with a member for each column.
nlohmann::ordered_json series_of(const RunRecord& record);

/// A curve as CSV (RFC 4180): the names of its columns, then a line for each point of the series.
std::string curve_csv(const Curve& curve, const nlohmann::ordered_json& points);

// steps.csv: every worker and step of a run, simulated or real. One table says what its columns are.

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

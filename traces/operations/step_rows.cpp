// step_rows: steps.csv of a run, simulated or real (docs/results.md): every worker and step. Of a step's
// operations it tells when the first began and the last ended: what follows the last backward pass is taken
// as one, in which all wait for each other; what went on beside computing has no time of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/measurements.hpp"
#include "traces/operations/stepped_job.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

enum StepCell : std::size_t { kWorker, kNumber, kBegin, kComputed, kWent, kOperationEnd, kEnd, kCellCount };
constexpr std::array<const char*, kCellCount> kStepCells = {
    "worker", "step", "begin_s", "computed_s", "operation_went_s", "operation_end_s", "end_s"};
constexpr double kMostStepTime_s = 1e12;
using StepCells = std::array<double, kCellCount>;

// What is wrong with a row; null: nothing.
const char* problem_of(const StepCells& row) {
  if (!(row[kWorker] >= 0 && row[kWorker] < 0x1p20 && std::trunc(row[kWorker]) == row[kWorker]))
    return "has no worker";
  if (!(row[kNumber] >= 0 && row[kNumber] < 0x1p53 && std::trunc(row[kNumber]) == row[kNumber]))
    return "has no step";
  if (!(std::fabs(row[kBegin]) < kMostStepTime_s && std::fabs(row[kEnd]) < kMostStepTime_s))
    return "has no begin or no end";
  for (const StepCell each : {kComputed, kWent, kOperationEnd})
    if (!std::isnan(row[each]) && !(row[each] >= row[kBegin] && row[each] <= row[kEnd] + 1e-6))
      return "has an instant outside of its step";
  return nullptr;
}

SteppedStep step_of_row(const StepCells& row) {
  SteppedStep step;
  step.number = static_cast<std::uint64_t>(row[kNumber]);
  step.whole = SteppedSpan{row[kBegin], row[kEnd]};
  const double computed_s = std::isnan(row[kComputed]) ? row[kBegin] : row[kComputed];
  if (std::isnan(row[kOperationEnd])) {
    step.computing = {{row[kBegin], row[kEnd]}};
    return step;
  }
  const double went_s = std::isnan(row[kWent]) ? computed_s : row[kWent];
  const double begin_s = std::min({computed_s, went_s, row[kOperationEnd]});
  step.computing = {{row[kBegin], begin_s}, {row[kOperationEnd], row[kEnd]}};
  if (begin_s < computed_s) step.computing.push_back({begin_s, computed_s});
  step.collectives = {{{begin_s, row[kOperationEnd]}, "operations", 0, 0}};
  return step;
}

}  // namespace

bool is_step_rows(std::string_view head) { return head.starts_with("worker,step,begin_s,"); }

RecordedJob read_step_rows(Input& input) {
  CsvReader reader(input, ',');
  std::vector<std::string> fields;
  reader.record(fields);
  const CsvColumns columns(fields);
  columns.require(kStepCells, input.name(), "", "Give a file that a run wrote with --steps");
  std::vector<InputError> errors;
  SteppedJob job;
  job.file = input.name();
  std::map<int, SteppedRank> ranks;
  constexpr std::size_t kMostRowErrors = 20;
  const auto wrong = [&](const std::string& problem, const std::string& found) {
    if (errors.size() < kMostRowErrors)
      errors.push_back({input.name(), "", fmt::format("line {} {}", reader.line(), problem), printable(found),
                        "Give a file that a run wrote with --steps"});
  };
  while (reader.record(fields)) {
    if (fields.size() != columns.width()) {
      wrong(fmt::format("has not {} fields", columns.width()), fmt::format("{}", fields.size()));
      continue;
    }
    StepCells row;
    bool numbers = true;
    for (std::size_t cell = 0; cell < kCellCount; ++cell) {
      const auto value = columns.number(fields, kStepCells[cell], kNotGiven);
      row[cell] = value.value_or(kNotGiven);
      if (value) continue;
      wrong(fmt::format("has no number in {}", kStepCells[cell]),
            std::string(columns.of(fields, kStepCells[cell])));
      numbers = false;
    }
    if (!numbers) continue;
    if (row[kEnd] < row[kBegin]) {
      ++job.ignored["rows of negative length, skipped"];
      if (job.skipped.size() < kMostRowErrors)
        job.skipped.push_back({input.name(), "", fmt::format("line {} ends before it begins", reader.line()),
                               fmt::format("{} to {}", row[kBegin], row[kEnd]),
                               "Give a file that a run wrote with --steps"});
      continue;
    }
    if (const char* problem = problem_of(row)) {
      wrong(problem, "");
      continue;
    }
    SteppedRank& rank = ranks[static_cast<int>(row[kWorker])];
    rank.rank = static_cast<int>(row[kWorker]);
    rank.steps.push_back(step_of_row(row));
  }
  if (input.cut()) wrong("ends too early: the compressed file was cut", "");
  if (!errors.empty()) throw ConfigError(std::move(errors));
  for (auto& [number, rank] : ranks) job.ranks.push_back(std::move(rank));
  job.understood["rows of steps"] = 0;
  for (const SteppedRank& rank : job.ranks) job.understood["rows of steps"] += rank.steps.size();
  return recorded_job(std::move(job));
}

}  // namespace simsgd

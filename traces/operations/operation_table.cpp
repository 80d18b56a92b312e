// operation_table: a job's operations as CSV, a row each, with the columns that ByteDance's published tables
// have: pid_dp, thread, op, step, mb_id, ts_us, dur_us; model_chunk where a stage has several.
//   https://github.com/ByteDance-Seed/StragglerAnalysis (Lin et al., OSDI 2025, arXiv:2505.05713)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/measurements.hpp"
#include "traces/operations/recorded_job.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

constexpr const char* kOperationColumns[] = {"pid_dp", "thread", "op",     "step",
                                             "mb_id",  "ts_us",  "dur_us", "model_chunk"};
constexpr std::size_t kNeededColumns = 7;

// Where each column stands; -1: nowhere.
std::vector<int> operation_columns(const std::vector<std::string>& header, const std::string& file) {
  std::vector<int> columns;
  std::vector<InputError> errors;
  for (const char* name : kOperationColumns) {
    const auto found = std::find(header.begin(), header.end(), name);
    columns.push_back(found == header.end() ? -1 : static_cast<int>(found - header.begin()));
    if (columns.back() >= 0 || columns.size() > kNeededColumns) continue;
    std::string all;
    for (const std::string& each : header) all += (all.empty() ? "" : ", ") + each;
    errors.push_back(
        {file, "", fmt::format("has no column \"{}\"", name), printable(all), "Name it in the first row"});
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return columns;
}

}  // namespace

bool is_operation_table(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  int named = 0;
  for (std::size_t i = 0; i < kNeededColumns; ++i)
    named += line.find(kOperationColumns[i]) != std::string_view::npos ? 1 : 0;
  return named >= 4 && line.find(',') != std::string_view::npos;
}

RecordedJob read_operation_table(Input& input) {
  RecordedJobBuilder builder(input.name(), "line");
  CsvReader reader(input, ',');
  std::map<std::pair<double, std::string>, std::size_t> threads;  // by replica and name
  std::vector<std::string> fields;
  reader.record(fields);
  const std::size_t width = fields.size();
  const std::vector<int> columns = operation_columns(fields, input.name());
  while (reader.record(fields)) {
    if (fields.size() != width) {
      builder.error(
          reader.line(), fmt::format("has not {} fields", width), fmt::format("{}", fields.size()),
          input.line_ended() ? "Give as many as the first row has" : "Copy the file again: it ends here");
      continue;
    }
    const auto text = [&](std::size_t column) -> std::string_view {
      return columns[column] < 0 ? std::string_view()
                                 : std::string_view(fields[static_cast<std::size_t>(columns[column])]);
    };
    bool readable = true;
    const auto number = [&](std::size_t column, double otherwise) {
      const std::string_view field = trimmed(text(column));
      double value = otherwise;
      if (field.empty() || read_number(field, value)) return value;
      builder.error(reader.line(), fmt::format("has no number in {}", kOperationColumns[column]),
                    std::string(field), "Give a number below 2^53");
      readable = false;
      return kNotGiven;
    };
    RecordedJobBuilder::Raw raw;
    raw.line = reader.line();
    const double replica = number(0, kNotGiven);
    raw.kind = text(2);
    raw.step = number(3, kNotGiven);
    raw.micro_batch = number(4, -1);
    raw.start_us = number(5, kNotGiven);
    raw.duration_us = number(6, kNotGiven);
    raw.chunk = number(7, 0);
    if (!readable) continue;
    const auto [found, fresh] =
        threads.try_emplace({std::isnan(replica) ? -1 : replica, std::string(text(1))}, 0U);
    if (fresh) {
      found->second = builder.thread(replica);
      builder.name_thread(found->second, text(1));
    }
    raw.thread = found->second;
    builder.add(raw);
  }
  if (input.cut()) builder.error(0, "ends too early: the compressed file was cut", "", "Copy it again");
  return builder.finish();
}

}  // namespace simsgd

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
  const CsvColumns columns(fields);
  columns.require(std::span(kOperationColumns).first(kNeededColumns), input.name(),
                  printable(fmt::format("{}", fmt::join(fields, ", "))), "Name it in the first row");
  while (reader.record(fields)) {
    if (fields.size() != columns.width()) {
      builder.error(
          reader.line(), fmt::format("has not {} fields", columns.width()), fmt::format("{}", fields.size()),
          input.line_ended() ? "Give as many as the first row has" : "Copy the file again: it ends here");
      continue;
    }
    bool readable = true;
    const auto number = [&](const char* column, double otherwise) {
      if (const auto value = columns.number(fields, column, otherwise)) return *value;
      builder.error(reader.line(), fmt::format("has no number in {}", column),
                    std::string(columns.of(fields, column)), "Give a number below 2^53");
      readable = false;
      return kNotGiven;
    };
    RecordedJobBuilder::Raw raw;
    raw.line = reader.line();
    const double replica = number("pid_dp", kNotGiven);
    raw.kind = columns.of(fields, "op");
    raw.step = number("step", kNotGiven);
    raw.micro_batch = number("mb_id", -1);
    raw.start_us = number("ts_us", kNotGiven);
    raw.duration_us = number("dur_us", kNotGiven);
    raw.chunk = number("model_chunk", 0);
    if (!readable) continue;
    const std::string_view thread = columns.of(fields, "thread");
    const auto [found, fresh] =
        threads.try_emplace({std::isnan(replica) ? -1 : replica, std::string(thread)}, 0U);
    if (fresh) {
      found->second = builder.thread(replica);
      builder.name_thread(found->second, thread);
    }
    raw.thread = found->second;
    builder.add(raw);
  }
  if (input.cut()) builder.error(0, "ends too early: the compressed file was cut", "", "Copy it again");
  return builder.finish();
}

}  // namespace simsgd

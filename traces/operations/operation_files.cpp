// operation_table: a job's operations as CSV, a row each, with the columns that ByteDance's published tables
// have: pid_dp, thread, op, step, mb_id, ts_us, dur_us; model_chunk where a stage has several.
// operation_timeline: a job's operations as Chrome trace events, as ByteDance publishes them: `pid` the
// data-parallel rank, a `thread_name` of "PP rank 0, TP rank 0, compute" for each `tid`, and in `args` step,
// micro-batch and model chunk. A list of events, or an object with one called traceEvents. Read event by
// event.
//   https://github.com/ByteDance-Seed/StragglerAnalysis (Lin et al., OSDI 2025, arXiv:2505.05713)
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/imported_file.hpp"
#include "traces/measurements.hpp"
#include "traces/operations/recorded_job.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd {

namespace {

constexpr const char* kOperationColumns[] = {"pid_dp", "thread", "op",     "step",
                                             "mb_id",  "ts_us",  "dur_us", "model_chunk"};
constexpr std::size_t kNeededColumns = 7;

class OperationEvents final : public TraceSink {
 public:
  explicit OperationEvents(RecordedJobBuilder& builder) : builder_(builder) {}

  void event(const TraceEvent& event, const TraceHead&) override {
    ++count_;
    const bool has_thread = !std::isnan(event.pid.number) && !std::isnan(event.tid.number);
    if (event.phase == 'M') {
      if (event.name == "thread_name" && has_thread) builder_.name_thread(thread(event, true), event.called);
      ++builder_.job().understood["names of threads and processes"];
    } else if (event.phase != 'X') {
      ++builder_.job().ignored["events that are not spans (ph is not X)"];
    } else if (std::isnan(event.step)) {
      ++builder_.job().ignored["spans that belong to no step"];
    } else {
      builder_.add({.line = count_,
                    .kind = event.name,
                    .thread = thread(event, has_thread),
                    .step = event.step,
                    .micro_batch = std::isnan(event.micro_batch) ? -1 : event.micro_batch,
                    .chunk = std::isnan(event.chunk) ? 0 : event.chunk,
                    .start_us = event.ts_us,
                    .duration_us = event.dur_us});
    }
  }

 private:
  // Threads without a number are one of each replica, which has no name.
  std::size_t thread(const TraceEvent& event, bool numbered) {
    const double replica = std::isnan(event.pid.number) ? -1 : event.pid.number;
    const auto [found, fresh] = threads_.try_emplace({replica, numbered ? event.tid.number : -1.5}, 0U);
    if (fresh) found->second = builder_.thread(event.pid.number);
    return found->second;
  }

  RecordedJobBuilder& builder_;
  std::map<std::pair<double, double>, std::size_t> threads_;  // by pid and tid
  std::size_t count_ = 0;
};

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
      builder.error(reader.line(), fmt::format("does not have {} fields", columns.width()),
                    fmt::format("{}", fields.size()),
                    input.line_ended() ? "Give as many as the first row has"
                                       : "Copy the file again: it is cut off here");
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

bool is_operation_timeline(std::string_view head) {
  return first_character(head) == '[' || first_character(head) == '{';
}

RecordedJob read_operation_timeline(Input& input) {
  RecordedJobBuilder builder(input.name(), "event");
  OperationEvents events(builder);
  const ImportConstants constants;
  SeenPoints seen;
  ImportedFile file(input.name(), constants, seen);
  const TraceRead read = read_trace_events(input, file, events);
  // Half a job is not a job: its last operations wait for others that are not there.
  if (read.cut)
    throw ConfigError(
        {input.name(), "", "is truncated JSON", "", "The file ends too early: copy or write it again"});
  if (!read.has_list)
    throw ConfigError({input.name(), "", "has no list of events", "", "Give it as \"traceEvents\""});
  for (const auto& [what, count] : file.report.ignored) builder.job().ignored[what] += count;
  return builder.finish();
}

}  // namespace simsgd

// operation_timeline: a job's operations as Chrome trace events, as ByteDance publishes them: `pid` the
// data-parallel rank, a `thread_name` of "PP rank 0, TP rank 0, compute" for each `tid`, and in `args` step,
// micro-batch and model chunk. A list of events, or an object with one called traceEvents. Read event by
// event.
//   https://github.com/ByteDance-Seed/StragglerAnalysis (Lin et al., OSDI 2025, arXiv:2505.05713)
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/errors.hpp"
#include "traces/imported_file.hpp"
#include "traces/measurements.hpp"
#include "traces/operations/recorded_job.hpp"
#include "traces/reading/text.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd {

namespace {

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
      ++builder_.job().ignored["events that are not a span (ph is not X)"];
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
        {input.name(), "", "is not whole JSON", "", "The file ends too early: copy or write it again"});
  if (!read.has_list)
    throw ConfigError({input.name(), "", "has no list of events", "", "Give it as \"traceEvents\""});
  for (const auto& [what, count] : file.report.ignored) builder.job().ignored[what] += count;
  return builder.finish();
}

}  // namespace simsgd

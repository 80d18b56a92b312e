#include "sim/recording/step_log.hpp"

#include <cmath>
#include <string_view>

namespace simsgd {

namespace {
constexpr double kNever_s = std::numeric_limits<double>::quiet_NaN();
}

StepLog::StepLog(int first, int count)
    : first_(first), ledgers_(first, count, false), open_(static_cast<std::size_t>(count)) {}

void StepLog::booked(int rank, Activity activity, double seconds) {
  ledgers_.booked(rank, activity, seconds);
}

void StepLog::waited(int rank, std::int32_t channel, double from_s, double to_s) {
  ledgers_.waited(rank, channel, from_s, to_s);
}

void StepLog::slowed(int rank, Traffic traffic, double seconds) { ledgers_.slowed(rank, traffic, seconds); }

void StepLog::span(int rank, const char* name, double, double to_s) {
  const std::string_view what = name;
  if (what == "backward" || what == "micro-batch") of(rank).row.computed_s = to_s;
}

void StepLog::operation(int rank, std::int32_t channel, const OperationSpan& span) {
  ledgers_.operation(rank, channel, span);
  StepRow& row = of(rank).row;
  if (std::isnan(row.operation_begin_s) || span.start_s < row.operation_begin_s)
    row.operation_begin_s = span.start_s;
  if (!std::isnan(row.operation_end_s) && span.end_s < row.operation_end_s) return;
  row.operation_went_s = span.go_s;
  row.operation_end_s = span.end_s;
}

void StepLog::sent(int rank, Traffic, double bytes) { of(rank).row.bytes_sent += bytes; }

void StepLog::step_began(int rank, std::uint64_t step, double now_s) {
  ledgers_.step_began(rank, step, now_s);
  Open& open = of(rank);
  open = {};
  open.row.worker = rank;
  open.row.step = step;
  open.row.begin_s = now_s;
  open.row.computed_s = open.row.operation_begin_s = kNever_s;
  open.row.operation_went_s = open.row.operation_end_s = kNever_s;
  open.before_s = ledgers_.of(rank).record().activity_s;
}

void StepLog::step_ended(const StepEnd& end) {
  ledgers_.step_ended(end);
  Open& open = of(end.rank);
  if (full()) return;
  StepRow row = open.row;
  row.end_s = end.end_s;
  for (std::size_t i = 0; i < kActivities; ++i)
    row.activity_s[i] = ledgers_.of(end.rank).record().activity_s[i] - open.before_s[i];
  row.staleness =
      open.staleness_count > 0 ? open.staleness_sum / static_cast<double>(open.staleness_count) : kNever_s;
  rows_.push_back(row);
}

void StepLog::staleness(int rank, double steps) {
  Open& open = of(rank);
  open.staleness_sum += steps;
  ++open.staleness_count;
}

}  // namespace simsgd

// operation_timeline: a job's operations as Chrome trace events, as ByteDance publishes them: `pid` the
// data-parallel rank, a `thread_name` of "PP rank 0, TP rank 0, compute" for each `tid`, and in `args` step,
// micro-batch and model chunk. A list of events, or an object with one called traceEvents. Read event by
// event.
//   https://github.com/ByteDance-Seed/StragglerAnalysis (Lin et al., OSDI 2025, arXiv:2505.05713)
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/errors.hpp"
#include "traces/measurements.hpp"
#include "traces/operations/recorded_job.hpp"
#include "traces/reading/json_stream.hpp"

namespace simsgd {

namespace {

// One event as it is read.
struct TimelineEventText {
  std::size_t number = 0;
  std::string kind;
  double pid = kNotGiven, tid = kNotGiven, step = kNotGiven, micro_batch = -1, chunk = 0;
  double start_us = kNotGiven, duration_us = kNotGiven;
};

bool has_thread(const TimelineEventText& event) { return !std::isnan(event.pid) && !std::isnan(event.tid); }

// What the parser tells, as events; of the rest nothing is kept.
class OperationEvents : public JsonHandler {
 public:
  explicit OperationEvents(RecordedJobBuilder& builder) : builder_(builder) {}

  bool has_events = false;

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) { return number(value); }
  bool string(string_t& value) {
    if (depth == event_depth_) {
      if (key_ == "name") event_.kind = value;
      if (key_ == "ph") phase_ = value;
    } else if (in_arguments_ && depth == event_depth_ + 1 && key_ == "name") {
      argument_name_ = value;
    }
    return true;
  }
  bool start_object(std::size_t) {
    if (!enter()) return false;
    if (events_depth_ > 0 && depth == events_depth_ + 1) begin_event();
    if (event_depth_ > 0 && depth == event_depth_ + 1) in_arguments_ = key_ == "args";
    return true;
  }
  bool key(string_t& value) {
    key_ = value;
    return true;
  }
  bool end_object() {
    if (depth == event_depth_) end_event();
    if (depth == event_depth_ + 1) in_arguments_ = false;
    --depth;
    return true;
  }
  bool start_array(std::size_t) {
    if (!enter()) return false;
    if (depth == 1 || (depth == 2 && events_depth_ == 0 && key_ == "traceEvents")) {
      events_depth_ = depth;
      has_events = true;
    }
    return true;
  }
  bool end_array() {
    if (depth == events_depth_) events_depth_ = 0;
    --depth;
    return true;
  }

 private:
  bool number(double value) {
    if (depth == event_depth_) {
      if (key_ == "pid") event_.pid = value;
      if (key_ == "tid") event_.tid = value;
      if (key_ == "ts") event_.start_us = value;
      if (key_ == "dur") event_.duration_us = value;
    } else if (in_arguments_ && depth == event_depth_ + 1) {
      if (key_ == "step") event_.step = value;
      if (key_ == "mb_id") event_.micro_batch = value;
      if (key_ == "model_chunk") event_.chunk = value;
    }
    return true;
  }
  // Threads without a number are one of each replica, which has no name.
  std::size_t thread(const TimelineEventText& event) {
    const double replica = std::isnan(event.pid) ? -1 : event.pid;
    const std::pair key{replica, has_thread(event) ? event.tid : -1.5};
    const auto [found, fresh] = threads_.try_emplace(key, 0U);
    if (fresh) found->second = builder_.thread(event.pid);
    return found->second;
  }
  void begin_event() {
    event_depth_ = depth;
    event_ = {};
    event_.number = ++count_;
    phase_.clear();
    argument_name_.clear();
  }
  void end_event() {
    event_depth_ = 0;
    if (phase_ == "M") {
      if (event_.kind == "thread_name" && has_thread(event_))
        builder_.name_thread(thread(event_), argument_name_);
      ++builder_.job().understood["names of threads and processes"];
    } else if (phase_ != "X") {
      ++builder_.job().ignored["events that are no span (ph is not X)"];
    } else if (std::isnan(event_.step)) {
      ++builder_.job().ignored["spans that belong to no step"];
    } else {
      RecordedJobBuilder::Raw raw;
      raw.line = event_.number;
      raw.kind = event_.kind;
      raw.thread = thread(event_);
      raw.step = event_.step;
      raw.micro_batch = event_.micro_batch;
      raw.chunk = event_.chunk;
      raw.start_us = event_.start_us;
      raw.duration_us = event_.duration_us;
      builder_.add(raw);
    }
  }

  RecordedJobBuilder& builder_;
  TimelineEventText event_;
  std::map<std::pair<double, double>, std::size_t> threads_;  // by pid and tid
  std::string key_, phase_, argument_name_;
  int events_depth_ = 0, event_depth_ = 0;  // 0: in none
  std::size_t count_ = 0;
  bool in_arguments_ = false;
};

// Half a job is no job: its last operations wait for others that are not there.
void check_document(const OperationEvents& events, const JsonEnd& end, RecordedJob& job,
                    const std::string& name) {
  if (end.cut)
    throw ConfigError({name, "", "is not whole JSON", "", "The file ends too early: copy or write it again"});
  if (!events.has_events)
    throw ConfigError({name, "", "has no list of events", "", "Give it as \"traceEvents\""});
  if (end.mended > 0) job.ignored["bytes that are no UTF-8, or control characters; replaced"] += end.mended;
}

}  // namespace

bool is_operation_timeline(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '[' || head[first] == '{');
}

RecordedJob read_operation_timeline(Input& input) {
  RecordedJobBuilder builder(input.name(), "event");
  OperationEvents events(builder);
  const JsonEnd end = read_json(input, events);
  check_document(events, end, builder.job(), input.name());
  return builder.finish();
}

}  // namespace simsgd

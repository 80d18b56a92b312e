#include "traces/operations/recorded_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/imported_file.hpp"
#include "traces/measurements.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd {

namespace {

constexpr double kLatest_us = 9007199254740992;  // 2^53: above it a double loses microseconds
constexpr int kMostPlaces = 1 << 20;
constexpr std::size_t kMostOperationErrors = 20;
constexpr const char* kForwardPass = "forward-compute";
constexpr const char* kBackwardPass = "backward-compute";
constexpr const char* kNegative = "events of negative length, skipped";
constexpr const char* kTwice = "steps that a worker did twice, left out";

// The number after "PP" or "PP rank".
std::optional<int> index_after(std::string_view thread, std::string_view name) {
  const std::size_t at = thread.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = trimmed(thread.substr(at + name.size()));
  if (rest.starts_with("rank")) rest = trimmed(rest.substr(4));
  int value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || value < 0 || value >= kMostPlaces) return std::nullopt;
  return value;
}

std::int32_t index_of(std::string_view name, std::vector<std::string>& names,
                      std::map<std::string, std::int32_t, std::less<>>& indices) {
  const auto found = indices.find(name);
  if (found != indices.end()) return found->second;
  names.emplace_back(name);
  return indices.emplace(name, static_cast<std::int32_t>(names.size()) - 1).first->second;
}

bool whole(double value, double least) {
  return value >= least && value <= kLatest_us && std::trunc(value) == value;
}

std::string number_text(double value) { return std::isnan(value) ? "nothing" : fmt::format("{}", value); }

std::string place_text(const RecordedPlace& place) {
  return fmt::format("replica {}, stage {}, slice {}", place.replica, place.stage, place.tensor);
}

/// Collects operations and all that is wrong with them.
class RecordedJobBuilder {
 public:
  /// `unit`: what lines are called in errors.
  RecordedJobBuilder(std::string file, std::string unit) {
    job_.file = std::move(file);
    job_.unit = std::move(unit);
  }

  /// One operation as a file tells it; NaN and empty texts where it does not.
  struct Raw {
    std::size_t line = 0;
    std::string_view kind;
    std::size_t thread = 0;  ///< of those that were made here
    double step = 0, micro_batch = -1, chunk = 0, start_us = 0, duration_us = 0;
  };
  void add(const Raw& raw) {
    RecordedOperation made;
    made.line = static_cast<std::uint32_t>(raw.line);
    const auto wrong = [&](const char* problem, const std::string& found, const char* remedy) {
      error(raw.line, problem, found, remedy);
    };
    if (raw.kind.empty()) return wrong("names no operation", "", "Name it: \"forward-compute\"");
    if (!whole(raw.step, 0)) return wrong("has no step", number_text(raw.step), "Give a whole number from 0");
    if (!whole(raw.micro_batch, -1) || raw.micro_batch > 2147483647 || !whole(raw.chunk, -1) ||
        raw.chunk > 2147483647)
      return wrong("has no readable micro-batch or chunk",
                   number_text(raw.micro_batch) + ", " + number_text(raw.chunk),
                   "Give whole numbers, or -1 where it belongs to none");
    if (!(std::fabs(raw.start_us) <= kLatest_us))
      return wrong("has no start time", number_text(raw.start_us), "Give microseconds below 2^53");
    if (raw.duration_us < 0 && raw.duration_us >= -kLatest_us)
      return job_.skip(kNegative,
                       {job_.file, "", fmt::format("{} {} ends before it begins", job_.unit, raw.line),
                        number_text(raw.duration_us), "Give microseconds from 0, below 2^53"});
    if (!(raw.duration_us >= 0 && raw.duration_us <= kLatest_us))
      return wrong("has no duration", number_text(raw.duration_us), "Give microseconds from 0, below 2^53");
    made.kind = index_of(raw.kind, job_.kinds, kinds_);
    made.worker = static_cast<std::int32_t>(raw.thread);  // until all threads have their names
    made.step = static_cast<std::int64_t>(raw.step);
    made.micro_batch = static_cast<std::int32_t>(raw.micro_batch);
    made.chunk = static_cast<std::int32_t>(raw.chunk);
    made.start_s = raw.start_us / 1e6;
    made.end_s = (raw.start_us + raw.duration_us) / 1e6;
    job_.operations.push_back(made);
  }

  /// A thread of a replica. `name`: "PP0, TP0, compute", or "PP rank 0, TP rank 0, compute"; it may come
  /// later than the operations.
  std::size_t thread(double replica) {
    threads_.push_back({.replica = replica, .name = ""});
    return threads_.size() - 1;
  }
  void name_thread(std::size_t thread, std::string_view name) { threads_[thread].name = name; }

  void error(std::size_t line, const std::string& problem, const std::string& found,
             const std::string& remedy) {
    if (line_errors_.size() >= kMostOperationErrors) {
      ++more_errors_;
      return;
    }
    const std::string place = line == 0 ? "" : fmt::format("{} {} ", job_.unit, line);
    const InputError made = {job_.file, "", place + problem, printable(found), remedy};
    line_errors_.emplace(line == 0 ? ~std::size_t{0} : line, made);
  }

  RecordedJob& job() { return job_; }

  /// Throws ConfigError: all that was wrong, no operation, a worker without any.
  RecordedJob finish() {
    if (line_errors_.empty() && job_.operations.empty() && !job_.skipped.empty())
      throw ConfigError(std::move(job_.skipped));
    if (line_errors_.empty() && job_.operations.empty())
      error(0, "has no operation", "", "Name a table or a timeline of a job's operations");
    for (const RecordedOperation& each : job_.operations) {
      Thread& thread = threads_[static_cast<std::size_t>(each.worker)];
      if (place(thread)) continue;
      if (!whole(thread.replica, 0) || thread.replica >= kMostPlaces)
        error(each.line, "has no data-parallel rank", number_text(thread.replica),
              "Give a whole number from 0");
      else
        error(each.line, "has no thread that names stage and lane", thread.name,
              "Write it as \"PP0, TP0, compute\"");
    }
    for (auto& [line, error] : line_errors_) errors_.push_back(std::move(error));
    if (errors_.empty()) {
      number_workers();
      check_places();
    }
    if (more_errors_ > 0)
      errors_.push_back(
          {job_.file, "", fmt::format("has {} more errors of this kind", more_errors_), "", "Correct it"});
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
    sort_operations(job_);
    skip_steps_done_twice();
    if (job_.operations.empty()) throw ConfigError(std::move(job_.skipped));
    return std::move(job_);
  }

 private:
  struct Thread {
    double replica = 0;
    std::string name;
    std::int32_t worker = -1, lane = -1;  // -1: not looked at yet, or without a place
  };

  // False where its name, or its replica, tells none.
  bool place(Thread& thread) {
    if (thread.worker >= 0) return true;
    const std::string_view name = thread.name;
    const std::size_t comma = name.rfind(',');
    const std::optional<int> stage = index_after(name, "PP");
    if (!stage || comma == std::string_view::npos || !whole(thread.replica, 0) ||
        thread.replica >= kMostPlaces)
      return false;
    thread.lane = index_of(trimmed(name.substr(comma + 1)), job_.lanes, lanes_);
    const std::tuple<int, int, int> at{*stage, static_cast<int>(thread.replica),
                                       index_after(name, "TP").value_or(0)};
    thread.worker = workers_.emplace(at, static_cast<std::int32_t>(workers_.size())).first->second;
    return true;
  }

  // From threads to places, and from the order in which these were met to their own.
  void number_workers() {
    std::vector<std::int32_t> renumbered(workers_.size());
    for (const auto& [place, met] : workers_) {
      const auto& [stage, replica, tensor] = place;
      renumbered[static_cast<std::size_t>(met)] = static_cast<std::int32_t>(job_.workers.size());
      job_.workers.push_back({replica, stage, tensor});
      job_.replicas = std::max(job_.replicas, replica + 1);
      job_.stages = std::max(job_.stages, stage + 1);
      job_.tensors = std::max(job_.tensors, tensor + 1);
    }
    for (RecordedOperation& each : job_.operations) {
      const Thread& thread = threads_[static_cast<std::size_t>(each.worker)];
      each.lane = thread.lane;
      each.worker = renumbered[static_cast<std::size_t>(thread.worker)];
    }
  }

  void check_places() {
    const double places = static_cast<double>(job_.replicas) * static_cast<double>(job_.stages) *
                          static_cast<double>(job_.tensors);
    if (places == static_cast<double>(job_.workers.size())) return;
    const std::set<RecordedPlace> there(job_.workers.begin(), job_.workers.end());
    for (int stage = 0; stage < job_.stages; ++stage)
      for (int replica = 0; replica < job_.replicas; ++replica)
        for (int tensor = 0; tensor < job_.tensors; ++tensor) {
          const RecordedPlace place{replica, stage, tensor};
          if (there.count(place) > 0) continue;
          errors_.push_back(
              {job_.file, "", "lacks the operations of a worker", place_text(place),
               fmt::format(
                   "Give all {:.0f} workers of the {} x {} x {} replicas, stages and slices that it names, each with its operations",
                   places, job_.replicas, job_.stages, job_.tensors)});
          if (errors_.size() >= kMostOperationErrors) return;
        }
  }

  // A pass of a micro-batch is there once in a step; where it is not, a worker did the step again, say after
  // a failure, and what belongs to which is not told.
  void skip_steps_done_twice() {
    std::set<std::int64_t> twice;
    using Pass = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    std::map<Pass, std::uint32_t> passes;  // of one worker's step, and their lines
    const RecordedOperation* last = nullptr;
    for (const RecordedOperation& each : job_.operations) {
      const std::string& kind = job_.kinds[static_cast<std::size_t>(each.kind)];
      if (kind != kForwardPass && kind != kBackwardPass) continue;
      if (last == nullptr || last->step != each.step || last->worker != each.worker) passes.clear();
      last = &each;
      const auto [first, fresh] = passes.try_emplace(
          {each.step, each.worker, each.kind, each.micro_batch, std::max(each.chunk, 0)}, each.line);
      if (fresh || !twice.insert(each.step).second) continue;
      job_.skip(kTwice, {job_.file, "",
                         fmt::format("{} {} is the same operation as {} {}", job_.unit,
                                     std::max(each.line, first->second), job_.unit,
                                     std::min(each.line, first->second)),
                         fmt::format("{} of micro-batch {}, chunk {}, in step {} of {}", kind,
                                     each.micro_batch, std::max(each.chunk, 0), each.step,
                                     place_text(job_.workers[static_cast<std::size_t>(each.worker)])),
                         "Give each once in a step"});
    }
    std::erase_if(job_.operations, [&](const RecordedOperation& each) { return twice.count(each.step) > 0; });
  }

  RecordedJob job_;
  std::vector<InputError> errors_;
  std::multimap<std::size_t, InputError> line_errors_;  // by line; then the others
  std::size_t more_errors_ = 0;
  std::map<std::string, std::int32_t, std::less<>> kinds_, lanes_;
  std::vector<Thread> threads_;
  std::map<std::tuple<int, int, int>, std::int32_t> workers_;  // by stage, replica, slice
};

// operation_table: a job's operations as CSV, a row each, with the columns that ByteDance's published tables
// have: pid_dp, thread, op, step, mb_id, ts_us, dur_us; model_chunk where a stage has several.
// operation_timeline: a job's operations as Chrome trace events, as ByteDance publishes them: `pid` the
// data-parallel rank, a `thread_name` of "PP rank 0, TP rank 0, compute" for each `tid`, and in `args` step,
// micro-batch and model chunk. A list of events, or an object with one called traceEvents. Read event by
// event.
//   https://github.com/ByteDance-Seed/StragglerAnalysis (Lin et al., OSDI 2025, arXiv:2505.05713)

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

RecordedJob recorded_job_of(Input& input, const std::vector<std::string>& others) {
  const std::string_view head = input.head();
  if (is_kineto_job(head)) return read_kineto_job(input, others);
  if (!others.empty())
    throw ConfigError({input.name(), "", "is not a profile of one rank", "",
                       "Name one file, or Kineto files of all ranks of one job"});
  if (is_step_rows(head)) return read_step_rows(input);
  if (head.find("\"schema_version\"") != std::string_view::npos &&
      head.find("\"ph\"") == std::string_view::npos)
    throw ConfigError({input.name(), "", "is a run's document, which has no operations of steps", "",
                       "Name the run's timeline.json, or its steps.csv (run -o DIR --steps)"});
  if (is_operation_timeline(head)) return read_operation_timeline(input);
  if (is_operation_table(head)) return read_operation_table(input);
  throw ConfigError(
      {input.name(), "", head.empty() ? "is empty" : "is neither a table nor a timeline of operations",
       printable(std::string(head.substr(0, std::min<std::size_t>(head.find('\n'), 60)))),
       "Name a CSV with the columns pid_dp, thread, op, step, mb_id, ts_us and dur_us, or a Chrome trace with events of a step (docs/replay.md)"});
}

}  // namespace

void RecordedJob::skip(const std::string& reason, InputError where) {
  ++ignored[reason];
  if (skipped.size() < kMostOperationErrors) skipped.push_back(std::move(where));
}

void sort_operations(RecordedJob& job) {
  const auto order = [](const RecordedOperation& o) {
    return std::tuple(o.step, o.worker, o.lane, o.start_s, o.end_s, o.line);
  };
  std::ranges::sort(job.operations, [&order](const auto& a, const auto& b) { return order(a) < order(b); });
}

RecordedJob read_recorded_job(const std::string& path) { return read_recorded_job(std::vector{path}); }

RecordedJob read_recorded_job(const std::vector<std::string>& paths) {
  Input input(paths.front());
  return recorded_job_of(input, {paths.begin() + 1, paths.end()});
}

RecordedJob read_recorded_job(const std::string& name, const std::string& text) {
  Input input(name, text);
  return recorded_job_of(input, {});
}

}  // namespace simsgd

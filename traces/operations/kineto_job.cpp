// kineto_job: a job's steps out of PyTorch's profiles (Kineto) of all its ranks, a file each, or out of our
// own timelines. A kernel belongs to the step in which the host launched it. Of our own timelines steps begin
// and end where they say; of PyTorch's, whose hosts run ahead, with their first and last kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "traces/operations/recorded_job.hpp"
#include "traces/reading/input.hpp"
#include "traces/recorders/kineto.hpp"

namespace simsgd {

namespace {

constexpr double kTimelineUs_per_s = 1e6;

// Hears our own messages, too, whose steps cannot be told apart.
class JobEvents final : public TraceSink {
 public:
  explicit JobEvents(ImportedFile& file) : kineto(file) {}
  void event(const TraceEvent& event, const TraceHead& head) override {
    if (head.backend == "simsgd" && (event.name == "send" || event.name == "receive")) ++messages;
    kineto.event(event, head);
  }

  kineto::Events kineto;
  std::size_t messages = 0;
};

SteppedSpan seconds_of(const kineto::Span& span) {
  return {span.begin_us / kTimelineUs_per_s, span.end_us / kTimelineUs_per_s};
}

SteppedRank steps_of_rank(int rank, kineto::Recording& recording, bool own, double& whole_s) {
  SteppedRank made{rank, {}};
  for (const kineto::StepTimes& times : kineto::step_times(recording))  // which tells kernels their steps
    whole_s += times.step_s;
  std::map<std::uint64_t, std::size_t> place;
  for (const kineto::ProfilerStep& each : recording.steps) {
    place[each.number] = made.steps.size();
    made.steps.push_back({each.number, {}, {}, {}});
    if (own) made.steps.back().whole = seconds_of(each.span);
  }
  for (const kineto::Kernel& kernel : recording.kernels)
    if (kernel.step < made.steps.size())
      made.steps[kernel.step].computing.push_back(seconds_of({kernel.ts_us, kernel.ts_us + kernel.dur_us}));
  for (const kineto::Nccl& nccl : recording.nccl) {
    if (!nccl.record.in_step) continue;
    const double bytes = nccl.record.bytes;
    made.steps[place.at(nccl.record.step)].collectives.push_back(
        {seconds_of(nccl.span), nccl.record.operation, bytes > 0 ? bytes : 0, nccl.record.group_size});
  }
  return made;
}

// From the first to the last of what ran in each step.
double played_s(const SteppedRank& rank) {
  double sum_s = 0;
  for (const SteppedStep& step : rank.steps) {
    SteppedSpan all{INFINITY, -INFINITY};
    const auto add = [&all](const SteppedSpan& span) {
      all = {std::min(all.begin_s, span.begin_s), std::max(all.end_s, span.end_s)};
    };
    for (const SteppedSpan& span : step.computing) add(span);
    for (const SteppedCollective& each : step.collectives) add(each.span);
    sum_s += std::max(0.0, all.end_s - all.begin_s);
  }
  return sum_s;
}

// assumed: steps of which no more is missing are the trace's own; what rounds to all of them is all.
constexpr double kMissedOfSteps = 0.1, kRounding = 0.005;

// One file into the job.
void add_file(const std::string& path, Input& input, SteppedJob& job, bool several) {
  const ImportConstants constants;
  SeenPoints seen;
  ImportedFile file(path, constants, seen);
  JobEvents events(file);
  const TraceRead trace = read_trace_events(input, file, events);
  events.kineto.finish();
  const bool own = trace.head.backend == "simsgd";
  if (events.messages > 0)
    throw ConfigError({path, "", "has messages between ranks, so it is unknown who waited for whom in a step",
                       "", "Replay methods whose ranks meet in collectives, such as allreduce_sgd"});
  if (trace.head.world_size >= 1 && trace.head.world_size < 0x1p24)
    job.world_size = static_cast<int>(trace.head.world_size);
  job.one_clock = job.one_clock && own;
  int next = 0;
  for (const SteppedRank& each : job.ranks) next = std::max(next, each.rank + 1);
  for (auto& [worker, recording] : events.kineto.recordings) {
    const bool told = trace.head.rank >= 0 && trace.head.rank < 0x1p24;
    const int rank = own ? worker : told ? static_cast<int>(trace.head.rank) : next;
    if (recording.steps.empty() && (several || own)) file.ignore("ranks without steps (ProfilerStep)");
    if (recording.steps.empty()) continue;
    double whole_s = 0;
    job.ranks.push_back(steps_of_rank(rank, recording, own, whole_s));
    const double share = whole_s > 0 ? played_s(job.ranks.back()) / whole_s : 1;
    if (own || share > 1 - kRounding) continue;
    const std::string text = fmt::format(
        "steps of which the first to the last kernel cover {:.0f} %: what the host does between steps is not simulated",
        100 * share);
    if (share < 1 - kMissedOfSteps)
      file.ignore(text, recording.steps.size());
    else
      file.understand(text, recording.steps.size());
  }
  if (const auto found = file.report.ignored.find(kineto::kBackwards); found != file.report.ignored.end())
    job.skipped.push_back(
        {path, "", "has " + found->first, fmt::format("{}", found->second), "Write it again"});
  for (const auto& [what, count] : file.report.understood) job.understood[what] += count;
  for (const auto& [what, count] : file.report.ignored) job.ignored[what] += count;
}

}  // namespace

bool is_kineto_job(std::string_view head) {
  return first_character(head) != '\0' &&
         (holds(head, "\"deviceProperties\"") || holds(head, "\"distributedInfo\"") ||
          holds(head, "\"schemaVersion\""));
}

RecordedJob read_kineto_job(Input& first, const std::vector<std::string>& others) {
  SteppedJob job;
  job.file = first.name();
  add_file(first.name(), first, job, !others.empty());
  for (const std::string& path : others) {
    Input input(path);
    if (!is_kineto_job(input.head()))
      throw ConfigError(
          {input.name(), "", "is not a profile of one rank", "", "Name Kineto files of one job together"});
    add_file(path, input, job, true);
  }
  return recorded_job(std::move(job));
}

}  // namespace simsgd

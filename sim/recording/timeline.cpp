#include "sim/recording/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/instants.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

namespace {

constexpr int kMostRanks = 16;
constexpr double kShortestArrow_s = 10e-6;  // shorter waits are latencies

// As NCCL names its kernels: operation, and schedule in capitals. An operation of an algorithm's own: its
// schedule.
std::string kernel_name(const std::string& operation, std::string schedule) {
  static const std::vector<std::pair<std::string, std::string>> kKernelNames = {
      {"all_reduce", "AllReduce_Sum_f32"},
      {"reduce_scatter", "ReduceScatter_Sum_f32"},
      {"all_gather", "AllGather"},
      {"all_to_all", "AllToAll"},
      {"broadcast", "Broadcast"},
      {"reduce", "Reduce_Sum_f32"},
      {"barrier", "Barrier"}};
  for (char& letter : schedule)
    letter = letter == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  for (const auto& [name, kernel] : kKernelNames)
    if (name == operation) return fmt::format("ncclDevKernel_{}_{}_LL", kernel, schedule);
  return "ncclDevKernel_" + schedule;
}

std::string text(const std::string& value) { return nlohmann::json(value).dump(); }

}  // namespace

Timeline::Timeline(TimelineSetup setup)
    : setup_(std::move(setup)),
      ranks_(setup_.most_events == 0 ? 0 : std::min(setup_.workers, kMostRanks)),
      events_per_rank_(ranks_ == 0 ? 0 : setup_.most_events / static_cast<std::uint64_t>(ranks_)),
      counts_(static_cast<std::size_t>(ranks_), 0),
      full_(static_cast<std::size_t>(ranks_), false) {}

void Timeline::add(TimelineEvent event) {
  ++counts_[static_cast<std::size_t>(event.rank)];
  events_.push_back(std::move(event));
}

void Timeline::span(int rank, const char* name, double from_s, double to_s) {
  if (!records(rank) || to_s <= from_s) return;
  add({rank, kComputeLane, from_s, to_s, name, "kernel",
       fmt::format("\"device\":{},\"stream\":{}", rank % setup_.gpus_per_node, kComputeLane)});
}

void Timeline::waited(int rank, std::int32_t, double from_s, double to_s) {
  if (!records(rank) || to_s <= from_s) return;
  add({rank, kMainLane, from_s, to_s, "wait", "user_annotation", ""});
}

void Timeline::collective(const CollectiveSeen& seen) {
  const OperationSpan& span = seen.span;
  if (!records(seen.rank) || span.end_s <= span.start_s) return;
  // Who came last of those that this one depends on, if anybody came later.
  const auto last = std::find(seen.arrival_s.begin(), seen.arrival_s.end(), span.go_s);
  const bool waited = span.go_s > span.start_s && last != seen.arrival_s.end();
  const int waited_for = waited ? seen.members[static_cast<std::size_t>(last - seen.arrival_s.begin())] : -1;
  const auto elements = static_cast<std::uint64_t>(seen.options.bytes / setup_.bytes_per_element);
  const int lane = kFirstChannelLane + seen.channel;
  const std::string name = op_name(seen.op);
  add({seen.rank, lane, span.start_s, span.end_s, kernel_name(name, seen.schedule), "kernel",
       fmt::format(
           "\"device\":{},\"stream\":{},\"Collective name\":{},\"In msg nelems\":{},\"Out msg nelems\":{},\"Group size\":{},\"dtype\":{},\"Process Group Name\":\"{}\",\"Seq\":{},\"traffic\":\"{}\"",
           seen.rank % setup_.gpus_per_node, lane, text(name), elements, elements, seen.members.size(),
           setup_.bytes_per_element < 4 ? "\"Half\"" : "\"Float\"", seen.options.group, seen.sequence,
           traffic_name(seen.options.traffic)) +
           (waited_for < 0 ? "" : fmt::format(",\"waited for rank\":{}", waited_for))});
  if (waited_for >= 0 && records(waited_for) && span.go_s - span.start_s >= kShortestArrow_s)
    arrows_.push_back({waited_for, seen.rank, lane, span.go_s});
}

void Timeline::message(int from, int to, double start_s, double end_s, double bytes) {
  const bool here = records(from), there = records(to);
  if (!here && !there) return;
  const std::uint64_t flow = here && there ? 2 * ++flows_ : 0;
  const std::string arguments = fmt::format("\"from\":{},\"to\":{},\"bytes\":{}", from, to, bytes);
  if (here) {
    const int lane = free_lane(from, kSentLane, start_s, end_s);
    add({from, lane, start_s, end_s, "send", "user_annotation", arguments, flow});
  }
  if (there) {
    const int lane = free_lane(to, kReceivedLane, start_s, end_s);
    add({to, lane, start_s, end_s, "receive", "user_annotation", arguments, flow ? flow + 1 : 0});
  }
}

void Timeline::cut(double end_s) {
  std::erase_if(events_, [end_s](const TimelineEvent& event) { return !before(event.start_s, end_s); });
  for (TimelineEvent& event : events_) event.end_s = std::min(event.end_s, end_s);
  std::erase_if(arrows_, [end_s](const TimelineArrow& arrow) { return before(end_s, arrow.time_s); });
}

// The first lane from `first` on that has been free since `start_s`. Messages come in the order of their
// ends.
int Timeline::free_lane(int rank, int first, double start_s, double end_s) {
  std::vector<double>& ends = lane_ends_s_[{rank, first}];
  const auto free = std::find_if(ends.begin(), ends.end(), [start_s](double end) { return end <= start_s; });
  const int lane = first + static_cast<int>(free - ends.begin());
  if (free == ends.end())
    ends.push_back(end_s);
  else
    *free = end_s;
  return lane;
}

void Timeline::step_ended(const StepEnd& end) {
  const int rank = end.rank;
  const std::uint64_t step = end.step;
  if (!records(rank)) return;
  add({rank, kMainLane, end.begin_s, end.end_s, fmt::format("ProfilerStep#{}", step), "user_annotation", ""});
  // Another step like the mean of those so far must still fit.
  const std::uint64_t count = counts_[static_cast<std::size_t>(rank)];
  if (count + count / step > events_per_rank_) full_[static_cast<std::size_t>(rank)] = true;
}

}  // namespace simsgd

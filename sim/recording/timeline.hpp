// The timeline of a run, in the shape of a PyTorch profiler (Kineto) trace, so that Perfetto, HTA and Chakra
// tools read a simulated run like a measured one: one file per rank with distributedInfo, and one file with
// all recorded ranks for Perfetto. Bounded: at most `most_events` events, whole steps of the first ranks (at
// most 16) until they are used up. traces/chrome_trace writes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/record.hpp"

namespace simsgd {

/// Lanes (tid): the main thread (ProfilerStep#k and what the worker waits for), the compute stream, channel c
/// at kFirstChannelLane + c, and messages, as many lanes as there are at a time.
inline constexpr int kMainLane = 0, kComputeLane = 7, kFirstChannelLane = 20, kSentLane = 1000,
                     kReceivedLane = 2000;

struct TimelineSetup {
  std::uint64_t most_events = 0;
  int workers = 1;
  int gpus_per_node = 1;
  std::string device_name;
  double device_memory_bytes = 0;
  std::string title;
  double bytes_per_element = 4;
};

/// A collective as the trace describes it.
struct CollectiveEvent {
  std::string name;      ///< "all_reduce"
  std::string schedule;  ///< "ring"
  double start_s = 0, end_s = 0;
  double bytes = 0;
  int group_size = 1;
  std::int32_t group = 0;
  std::int32_t channel = 0;
  std::uint64_t sequence = 0;
  Traffic traffic = Traffic::gradient;
  int waited_for = -1;  ///< rank that came last of those that this one depends on; -1: nobody was later
  double go_s = 0;      ///< when it came
};

struct TimelineEvent {
  std::int32_t rank, lane;
  double start_s, end_s;
  std::string name, category, arguments;  ///< arguments: the inside of a JSON object
  std::uint64_t flow = 0;                 ///< of a message: 2 id for its begin, 2 id + 1 for its end
};

/// Who was waited for: from the begin of its part of an operation to the one that waited.
struct TimelineArrow {
  std::int32_t from, to, lane;
  double time_s;
};

class Timeline {
 public:
  explicit Timeline(TimelineSetup setup);

  /// False once the rank's share of events is used up, or if it is not recorded at all.
  bool records(int rank) const { return rank < ranks_ && !full_[static_cast<std::size_t>(rank)]; }

  void compute(int rank, const char* name, double start_s, double end_s);
  void wait(int rank, double start_s, double end_s);
  /// With an arrow from the rank that it waited for, where both are recorded.
  void collective(int rank, const CollectiveEvent& event);
  /// A message between two ranks; drawn as a flow arrow where both are recorded.
  void message(int from, int to, double start_s, double end_s, double bytes);
  /// The step is over: only here can a rank become full, so that steps are recorded whole.
  void step(int rank, std::uint64_t step, double start_s, double end_s);

  bool empty() const { return events_.empty(); }
  int ranks() const { return ranks_; }
  std::uint64_t steps_recorded() const { return steps_recorded_; }

  const TimelineSetup& setup() const { return setup_; }
  const std::vector<TimelineEvent>& events() const { return events_; }
  const std::vector<TimelineArrow>& arrows() const { return arrows_; }
  /// Messages between recorded ranks: the greatest id of a flow.
  std::uint64_t flows() const { return flows_; }

 private:
  void add(TimelineEvent event);
  int free_lane(int rank, int first, double start_s, double end_s);

  TimelineSetup setup_;
  int ranks_;
  std::uint64_t events_per_rank_;
  std::vector<std::uint64_t> counts_;
  std::vector<bool> full_;
  std::vector<TimelineEvent> events_;
  std::vector<TimelineArrow> arrows_;
  std::map<std::pair<int, int>, std::vector<double>>
      lane_ends_s_;  // by (rank, first lane): when each lane is free
  std::uint64_t steps_recorded_ = 0;
  std::uint64_t flows_ = 0;
};

}  // namespace simsgd

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

#include "sim/observer.hpp"
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

class Timeline final : public Observer {
 public:
  explicit Timeline(TimelineSetup setup);

  /// False once the rank's share of events is used up, or if it is not recorded at all.
  bool records(int rank) const { return rank < ranks_ && !full_[static_cast<std::size_t>(rank)]; }

  void span(int rank, const char* name, double from_s, double to_s) override;
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override;
  /// With an arrow from the rank that it waited for, where both are recorded.
  void collective(const CollectiveSeen& seen) override;
  /// Drawn as a flow arrow where both ranks are recorded.
  void message(int from, int to, double start_s, double end_s, double bytes) override;
  /// Only here can a rank become full, so that steps are recorded whole.
  void step_ended(const StepEnd& end) override;

  /// The run was over at `end_s`: what goes on then is drawn until then.
  void cut(double end_s);

  bool empty() const { return events_.empty(); }
  int ranks() const { return ranks_; }

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
  std::uint64_t flows_ = 0;
};

}  // namespace simsgd

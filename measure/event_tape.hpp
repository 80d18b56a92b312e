// What one rank did and when, kept until rank 0 draws the timeline of the run: the same Timeline as of a
// simulation. Bounded as that is.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "measure/packing.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/recording/timeline.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

class EventTape final : public Observer {
 public:
  EventTape(const Job& job, int rank) : job_(job), rank_(rank) {}

  void span(int rank, const char* name, double from_s, double to_s) override {
    Event event{.from = rank, .start_s = from_s, .end_s = to_s};
    std::strncpy(event.name, name, sizeof event.name - 1);
    add(event);
  }
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override {
    if (to_s > from_s)
      add({.kind = Event::Kind::waited, .from = rank, .channel = channel, .start_s = from_s, .end_s = to_s});
  }
  void collective(const CollectiveSeen& seen) override {
    add({.kind = Event::Kind::collective,
         .op = seen.op,
         .traffic = seen.options.traffic,
         .from = seen.rank,
         .channel = seen.channel,
         .group = seen.options.group,
         .members = static_cast<std::int32_t>(seen.members.size()),
         .number = seen.sequence,
         .start_s = seen.span.start_s,
         .go_s = seen.span.go_s,
         .end_s = seen.span.end_s,
         .bytes = seen.options.bytes});
  }

  void message(int from, int to, double start_s, double end_s, double bytes) override {
    add({.kind = Event::Kind::message,
         .from = from,
         .to = to,
         .start_s = start_s,
         .end_s = end_s,
         .bytes = bytes});
  }

  void step_ended(const StepEnd& end) override {
    add({.kind = Event::Kind::step,
         .from = end.rank,
         .number = end.step,
         .start_s = end.begin_s,
         .end_s = end.end_s});
  }

  /// Collective. On rank 0 the timeline of all, elsewhere an empty one.
  /// In the order of time, so that ranks are full after the same steps as in a simulation.
  Timeline timeline(MPI_Comm world) const {
    std::vector<Event> all;
    for (const std::vector<Event>& theirs : gather_at_root(world, events_))
      all.insert(all.end(), theirs.begin(), theirs.end());
    if (rank_ != 0) return Timeline{TimelineSetup{}};
    std::stable_sort(all.begin(), all.end(),
                     [](const Event& a, const Event& b) { return a.end_s < b.end_s; });
    Timeline timeline({.most_events = job_.record.timeline_events,
                       .workers = job_.workers(),
                       .gpus_per_node = job_.cluster.gpus_per_node,
                       .device_name = job_.cluster.device.name,
                       .device_memory_bytes = job_.cluster.device.memory_bytes,
                       .title = job_.name,
                       .bytes_per_element = 4});
    for (const Event& event : all) draw(event, timeline);
    return timeline;
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t { span, waited, collective, message, step } kind = Kind::span;
    CollectiveOp op = CollectiveOp::barrier;
    Traffic traffic = Traffic::control;
    std::int32_t from = 0, to = 0, channel = 0, group = 0, members = 0;
    std::uint64_t number = 0;  ///< step, or sequence
    double start_s = 0, go_s = 0, end_s = 0, bytes = 0;
    char name[24] = {};
  };
  void add(const Event& event) {
    if (events_.size() < job_.record.timeline_events) events_.push_back(event);
  }
  static void draw(const Event& event, Timeline& timeline) {
    switch (event.kind) {
      case Event::Kind::span:
        return timeline.span(event.from, event.name, event.start_s, event.end_s);
      case Event::Kind::waited:
        return timeline.waited(event.from, event.channel, event.start_s, event.end_s);
      case Event::Kind::message:
        return timeline.message(event.from, event.to, event.start_s, event.end_s, event.bytes);
      case Event::Kind::step:
        return timeline.step_ended({event.from, event.number, event.start_s, event.end_s, {}});
      case Event::Kind::collective:
        break;
    }
    CollectiveOptions options;
    options.bytes = event.bytes;
    options.traffic = event.traffic;
    options.group = event.group;
    std::vector<int> members(static_cast<std::size_t>(event.members));
    std::iota(members.begin(), members.end(), 0);
    const std::string schedule = "mpi";
    timeline.collective({.rank = event.from,
                         .op = event.op,
                         .options = options,
                         .schedule = schedule,
                         .span = {event.start_s, event.go_s, event.end_s, 0, 0, event.traffic},
                         .channel = event.channel,
                         .sequence = event.number,
                         .members = members,
                         .arrival_s = {}});
  }

  const Job& job_;
  int rank_;
  std::vector<Event> events_;
};

}  // namespace simsgd

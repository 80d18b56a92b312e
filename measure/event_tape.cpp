#include "measure/event_tape.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "measure/gathering.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

EventTape::EventTape(const Job& job, int rank) : job_(job), rank_(rank) {}

void EventTape::add(const Event& event) {
  if (events_.size() < job_.record.timeline_events) events_.push_back(event);
}

void EventTape::span(int rank, const char* name, double from_s, double to_s) {
  Event event{.from = rank, .start_s = from_s, .end_s = to_s};
  std::strncpy(event.name, name, sizeof event.name - 1);
  add(event);
}

void EventTape::waited(int rank, std::int32_t channel, double from_s, double to_s) {
  if (to_s > from_s)
    add({.kind = Event::Kind::waited, .from = rank, .channel = channel, .start_s = from_s, .end_s = to_s});
}

void EventTape::collective(const CollectiveSeen& seen) {
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

void EventTape::message(int from, int to, double start_s, double end_s, double bytes) {
  add({.kind = Event::Kind::message,
       .from = from,
       .to = to,
       .start_s = start_s,
       .end_s = end_s,
       .bytes = bytes});
}

void EventTape::step_ended(const StepEnd& end) {
  add({.kind = Event::Kind::step,
       .from = end.rank,
       .number = end.step,
       .start_s = end.begin_s,
       .end_s = end.end_s});
}

void EventTape::draw(const Event& event, Timeline& timeline) {
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

// In the order of time, so that ranks are full after the same steps as in a simulation.
Timeline EventTape::timeline(MPI_Comm world) const {
  std::vector<Event> all;
  for (const std::vector<Event>& theirs : gather_at_root(world, events_))
    all.insert(all.end(), theirs.begin(), theirs.end());
  if (rank_ != 0) return Timeline{TimelineSetup{}};
  std::stable_sort(all.begin(), all.end(), [](const Event& a, const Event& b) { return a.end_s < b.end_s; });
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

}  // namespace simsgd

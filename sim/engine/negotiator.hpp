// Negotiated collectives: operations wait until all members have handed them over and the next tick of a
// clock that all share has come; all-reduces of one tick travel in one buffer (sim/cluster/cluster.hpp).
//
// An operation that its last member hands over at t begins at ceil(t / cycle) cycle + agreement, or when its
// channel is free. What is ready by then is taken in the order in which it was handed over; an all-reduce
// joins the one before it where both carry the same kind of traffic and fit one buffer. Messages of an
// algorithm's own, and groups of one, do not negotiate. Ticks are events: workers that are ahead of its
// clock have said all that is before them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/engine/collective_engine.hpp"

namespace simsgd {

class Negotiator {
 public:
  Negotiator(const Job& job, Transport& transport, Groups& groups, Executor& executor,
             CollectiveEngine& collectives);
  ~Negotiator();

  /// As CollectiveEngine::start, which it calls at once for what is not negotiated.
  void start(int rank, double time_s, AnyCollective&& collective, CollectiveSlot slot);
  /// Whether it waits for a tick.
  bool negotiates(const AnyCollective& collective) const;
  /// What does not wait is sent from where it lies, where the library does so.
  void send_in_place(AnyCollective& collective) const;
  /// As handed over by all at a tick, alone.
  double predict(int rank, const AnyCollective& collective);
  /// What a member expects that hands it over at `time_s`, as if all others did so then: when it begins at
  /// the earliest, and how much longer its buffer takes for it. Once for each, in the order of hand-over.
  struct Expected {
    double begin_s = 0, seconds = 0;
  };
  Expected expect(int rank, double time_s, const AnyCollective& collective);
  /// The number of the ledger channel that the operation is booked on.
  std::int32_t ledger_channel(const AnyCollective& collective);
  /// What somebody has not handed over: the explanation of a deadlock.
  std::string unfinished() const;

 private:
  struct Request;
  struct Queue;
  struct Buffer {  // that a member expects to share
    double begin_s = -1, seconds = 0;
    AllReduce whole;
  };
  using Batch = std::vector<std::unique_ptr<Request>>;

  ChannelId channel_of(const AnyCollective& collective) const;
  bool stays_in_place(const AnyCollective& collective) const;
  void arm(Queue& queue, double ready_s);
  void serve(Queue& queue, double tick_s);
  Batch next_batch(Queue& queue, double tick_s) const;
  bool joins(const Batch& batch, const Request& next) const;
  void begin(Queue& queue, Batch batch, double time_s);
  void begin_fused(Queue& queue, Batch batch, double time_s);

  const Job& job_;
  Transport& transport_;
  Groups& groups_;
  Executor& executor_;
  CollectiveEngine& collectives_;
  std::map<std::pair<GroupId, ChannelId>, std::unique_ptr<Queue>> queues_;
  std::map<std::tuple<int, GroupId, ChannelId>, Buffer> expected_;  // of each rank the last
};

}  // namespace simsgd

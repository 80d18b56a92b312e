// The roles of a simulated worker that exchange something with others: each turns calls into work for the
// mailroom and the collective engine. What all of them stand on is the worker's clock.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "sim/engine/collective_engine.hpp"
#include "sim/engine/flooding.hpp"
#include "sim/engine/mailroom.hpp"
#include "sim/engine/negotiator.hpp"
#include "sim/engine/sim_clock.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// What the workers of one run share.
struct World {
  const Job& job;
  PassTimes times;
  Executor& executor;
  Fibers& fibers;
  Transport& transport;
  Interference& interference;
  Groups& groups;
  CollectiveEngine& collectives;
  Negotiator& negotiator;
  Mailroom& mailroom;
  Flooding& flooding;
  Observers& observers;
  LedgerBook& ledgers;              ///< which are among these
  const Observers& beside_ledgers;  ///< the others, that clocks tell
};

class SimMessages final : public Messages {
 public:
  SimMessages(int rank, World& world, SimClock& clock)
      : Messages(clock), rank_(rank), world_(world), clock_(clock) {}
  Handle<Message> start_receive(int from, int tag) override;

 protected:
  Handle<Nothing> begin_send(int to, int tag, Message message) override;

 private:
  int rank_;
  World& world_;
  SimClock& clock_;
};

class SimCollectives final : public Collectives {
 public:
  SimCollectives(int rank, World& world, SimClock& clock);
  GroupId group(const std::vector<int>& ranks) override { return world_.groups.intern(ranks); }
  /// Begins what a blocking library has held back while the worker computed.
  void release();

 protected:
  double predicted(const AnyCollective& collective) override {
    return world_.negotiator.predict(rank_, collective);
  }
  std::size_t members(GroupId group) const override { return world_.groups.ranks(group).size(); }
  void begin(AnyCollective&& collective, CollectiveSlot slot) override;

 private:
  struct Held {
    AnyCollective collective;
    CollectiveSlot slot;
  };
  void begin_now(AnyCollective&& collective, CollectiveSlot slot);

  int rank_;
  World& world_;
  SimClock& clock_;
  std::vector<Held> held_;
};

class SimBackground final : public Background {
 public:
  /// `others`: the backgrounds of all ranks, complete when the run begins.
  SimBackground(int rank, World& world, SimClock& clock, const std::vector<SimBackground*>& others)
      : rank_(rank), world_(world), clock_(clock), others_(others) {}

  void serve(int tag, std::function<void(const Message&)> handler) override;
  void then(Awaited handle, std::function<void()> action) override;
  bool hear(int tag, std::function<void(std::uint64_t)> heard) override;
  void flood(int tag, std::uint64_t number) override;
  Handle<Nothing> make_event() override { return Handle<Nothing>::make(); }
  void signal(const Handle<Nothing>& event) override;
  Handle<Nothing> start_timer(double seconds) override;

 protected:
  void begin_post(int to, int tag, Message message) override;

 private:
  void deliver(int tag, const Message& message);

  int rank_;
  World& world_;
  SimClock& clock_;
  const std::vector<SimBackground*>& others_;
  std::map<int, std::function<void(const Message&)>> handlers_;
};

class SimPreemption final : public Preemption {
 public:
  SimPreemption(World& world, SimClock& clock, Compute& compute, Replica& replica)
      : job_(world.job), clock_(clock), compute_(compute), replica_(replica) {}

  Handle<RunningGradient> start(const GradientOptions& options) override;
  void cancel(const Handle<RunningGradient>& gradient) override;
  Tensor take(const Handle<RunningGradient>& gradient) override;
  /// The run is over: what hit the running gradient until then did happen.
  void record_outages_until(double over_s);

 private:
  const Job& job_;
  SimClock& clock_;
  Compute& compute_;
  Replica& replica_;
  Handle<RunningGradient> running_;  // neither taken nor cancelled
  MicroBatch part_;
  std::vector<Crashes::Outage> outages_;  // that hit it, until it is through
  double seconds_ = 0;                    // that it takes without them
};

}  // namespace simsgd

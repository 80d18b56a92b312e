// One collective of one rank as the messages of a schedule, one by one, as the simulation has them: what a
// real run sends where it is asked for the scenario's schedules instead of MPI's own (--schedules scenario).
// The messages carry the values (cargo.hpp), and nothing else is sent: what the operation gives comes out of
// them. Behind its bytes each message says when the last of those came that its sender has heard of: so a
// rank knows at its end since when it has waited for bytes alone. A schedule says that a message begins when
// both sides are ready, and is over for both at once. Where some leave early (exchanges between neighbours,
// broadcasts) that decides who waits for whom: there receivers ask for each message, and senders are told
// that it has come. Where everybody waits for everybody it is sent when its sender is ready, which costs no
// answer.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "measure/cargo.hpp"
#include "measure/communicators.hpp"
#include "measure/mpi_progress.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/job.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

/// Seconds that the scenario's cluster would take for the collective among `ranks`.
double predicted_s(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks);

/// By which schedule the scenario does it, of an operation's own where it has one.
Schedule scheduled(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks);

/// Whether the schedule's messages carry all that the operation's result is made of. An effect of a custom
/// one is given everybody's contribution.
bool carries_enough(const AnyCollective& collective, const Schedule& schedule);

struct ExchangeContext;

/// As other exchanges (exchanges.hpp). Does not move: MPI knows the addresses of its buffers. The collective
/// must stay where it is.
class ScheduledExchange {
 public:
  ScheduledExchange(ExchangeContext& context, const AnyCollective& collective, Schedule schedule);
  ScheduledExchange(const ScheduledExchange&) = delete;
  ScheduledExchange& operator=(const ScheduledExchange&) = delete;

  /// True once this rank is through.
  bool advance(ExchangeContext& context, Ongoing& ongoing);
  void deliver(ExchangeContext& context, const AnyCollective& collective, const CollectiveSlot& slot);
  double bytes_sent(const ChannelSite&) const { return sent_; }
  /// What is still open when the rank is through, because it may leave before the others come.
  MPI_Request left_behind() const { return arrivals_; }

 private:
  struct Incoming {
    const Stage& stage;
    int time = 0, tag = 0;
    std::int32_t sender = 0;
    bool found = false;  // its length is known, and MPI receives it
    Bytes message{};
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Outgoing {
    Bytes message;
    int to = 0, tag = 0;
    double asked_by_s = 0;  // the last arrival that the receiver has heard of
    bool sent = false;
    MPI_Request request = MPI_REQUEST_NULL;  // the message's, or before it that of the receiver's question
  };
  void post(ExchangeContext& context, const Stage& stage, int time);
  void post_all(ExchangeContext& context);
  bool all_sent(ExchangeContext& context, Ongoing& ongoing);
  bool all_through(ExchangeContext& context, Ongoing& ongoing);
  void take_all();
  int next_tag() { return 2 * tag_++; }  // the one after it is the question's
  const Stage& stage() const { return schedule_.stages[stage_]; }

  Schedule schedule_;
  std::unique_ptr<Cargo> cargo_;
  std::int32_t rank_;
  std::size_t stage_ = 0;
  int time_ = 0;  // of the stage's repetitions
  int tag_ = 0;
  bool posted_ = false;
  double sent_ = 0;
  std::list<Incoming> in_;
  std::list<Outgoing> out_;
  std::list<MPI_Request> questions_;  // of this rank
  double last_came_s_;                // of those that this rank has heard of
  double told_s_;                     // of those, when the messages under way were posted
  std::vector<double> came_;          // everybody, of a schedule that begins together
  MPI_Request arrivals_ = MPI_REQUEST_NULL;
};

}  // namespace simsgd

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

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <vector>

#include "measure/cargo.hpp"
#include "measure/communicators.hpp"
#include "measure/mpi_progress.hpp"
#include "sim/base/check.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/job.hpp"
#include "sim/roles/collectives.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd {

inline Plan plan_of(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  const CollectiveOptions& options = options_of(collective);
  if (const auto* custom = std::get_if<CustomCollective>(&collective); custom && custom->messages)
    return Plan(scaled(*custom->messages, custom->size), job.cluster, ranks, options.bytes);
  return plan_by_policy(job.network.collectives, job.cluster, ranks,
                        {op_of(collective), options.bytes, root_of(collective), 1, options.schedule});
}

/// Seconds that the scenario's cluster would take for the collective among `ranks`.
inline double predicted_s(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  return predicted_s(plan_of(job, collective, ranks));
}

/// By which schedule the scenario does it, of an operation's own where it has one.
inline Schedule scheduled(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  Schedule schedule = plan_of(job, collective, ranks).schedule();
  return schedule.one_by_one ? schedule.one_by_one() : schedule;
}

/// Whether the schedule's messages carry all that the operation's result is made of. An effect of a custom
/// one is given everybody's contribution.
inline bool carries_enough(const AnyCollective& collective, const Schedule& schedule) {
  const auto* custom = std::get_if<CustomCollective>(&collective);
  if (custom == nullptr || !custom->effect || custom->merging.merge) return true;
  const auto members = static_cast<std::size_t>(schedule.ranks);
  // By member: whose contributions it has.
  std::vector<std::vector<bool>> held(members, std::vector(members, false));
  for (std::size_t i = 0; i < members; ++i) held[i][i] = true;
  for (const Stage& stage : schedule.stages)
    for (int time = 0; time < stage.repeat; ++time) {
      const std::vector<std::vector<bool>> before = held;
      for (std::size_t i = 0; i < members; ++i) {
        if (stage.to[i] < 0) continue;
        const BlockRange range = stage.carried_by(static_cast<std::int32_t>(i), time);
        for (std::int32_t b = 0; b < range.count; ++b) {
          const std::size_t block = static_cast<std::size_t>(range.first + b) % members;
          if (!before[i][block]) return false;
          held[static_cast<std::size_t>(stage.to[i])][block] = true;
        }
      }
    }
  return std::all_of(held.begin(), held.end(), [](const std::vector<bool>& each) {
    return std::all_of(each.begin(), each.end(), [](bool b) { return b; });
  });
}

/// What an exchange works with.
struct ExchangeContext {
  const Job& job;
  Executor& executor;
  const RunClock& clock;
  ChannelSite& site;
  PackedSizes sizes = PackedSizes::values;
  double came_s = 0;  ///< when this rank came to the operation that begins now
};

inline void stamp(Bytes& message, double time_s) {
  message.resize(message.size() + sizeof time_s);
  std::memcpy(message.data() + message.size() - sizeof time_s, &time_s, sizeof time_s);
}

/// Takes the time stamp off a message.
inline double take_stamp(Bytes& message) {
  double time_s = 0;
  CHECK(message.size() >= sizeof time_s, "a message without a time");
  std::memcpy(&time_s, message.data() + message.size() - sizeof time_s, sizeof time_s);
  message.resize(message.size() - sizeof time_s);
  return time_s;
}

/// As other exchanges (exchanges.hpp). Does not move: MPI knows the addresses of its buffers. The collective
/// must stay where it is.
class ScheduledExchange {
 public:
  ScheduledExchange(ExchangeContext& context, const AnyCollective& collective, Schedule schedule)
      : schedule_(std::move(schedule)),
        cargo_(make_cargo({.executor = context.executor,
                           .member = context.site.group_rank,
                           .members = context.site.members(),
                           .learns = context.job.learner != nullptr,
                           .sizes = context.sizes},
                          collective, schedule_)),
        rank_(context.site.group_rank),
        last_came_s_(context.came_s),
        told_s_(context.came_s) {
    if (!schedule_.together) return;
    came_.resize(static_cast<std::size_t>(context.site.members()));
    MPI_Iallgather(&told_s_, 1, MPI_DOUBLE, came_.data(), 1, MPI_DOUBLE, context.site.arrivals, &arrivals_);
  }

  ScheduledExchange(const ScheduledExchange&) = delete;
  ScheduledExchange& operator=(const ScheduledExchange&) = delete;

  /// True once this rank is through.
  bool advance(ExchangeContext& context, Ongoing& ongoing) {
    if (schedule_.together) {
      if (!is_complete(arrivals_)) return false;
      last_came_s_ = *std::max_element(came_.begin(), came_.end());
    }
    const auto through = [&] {
      ongoing.others_came(last_came_s_);
      return true;
    };
    if (schedule_.concurrent && !posted_) post_all(context);
    while (true) {
      if (posted_) {
        if (!all_through(context, ongoing)) return false;
        if (!in_.empty()) ongoing.somebody_came();
        take_all();
        if (stage_ >= schedule_.stages.size()) return through();
        posted_ = false;
        if (++time_ >= stage().repeat) {
          time_ = 0;
          ++stage_;
        }
      }
      if (stage_ >= schedule_.stages.size()) return through();
      told_s_ = last_came_s_;
      post(context, stage(), time_);
      posted_ = true;
    }
  }

  void deliver(ExchangeContext&, const AnyCollective& collective, const CollectiveSlot& slot) {
    cargo_->deliver(collective, slot);
  }
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
  void post(ExchangeContext& context, const Stage& stage, int time) {
    const auto me = static_cast<std::size_t>(rank_);
    const int tag = next_tag();
    if (const std::int32_t from = stage.from[me]; from >= 0) {
      Incoming& coming = in_.emplace_back(Incoming{stage, time, tag, from});
      if (const auto length = cargo_->length(stage, time, from)) {
        coming.found = true;
        coming.message.resize(*length + sizeof(double));
        MPI_Irecv(coming.message.data(), mpi_count(coming.message.size()), MPI_BYTE, from, tag,
                  context.site.data, &coming.request);
      }
      if (!schedule_.all_wait_for_all)
        MPI_Isend(&told_s_, 1, MPI_DOUBLE, from, tag + 1, context.site.data, &questions_.emplace_back());
    }
    if (const std::int32_t to = stage.to[me]; to >= 0) {
      Outgoing& going = out_.emplace_back(Outgoing{cargo_->give(stage, time), to, tag});
      const std::size_t length = going.message.size();
      stamp(going.message, told_s_);
      if (schedule_.all_wait_for_all) {
        going.sent = true;
        MPI_Isend(going.message.data(), mpi_count(going.message.size()), MPI_BYTE, to, tag, context.site.data,
                  &going.request);
      } else {
        MPI_Irecv(&going.asked_by_s, 1, MPI_DOUBLE, to, tag + 1, context.site.data, &going.request);
      }
      // Parts of a byte are sent as a whole one, and counted as the schedule does.
      sent_ += length == static_cast<std::size_t>(std::ceil(stage.bytes)) ? stage.bytes
                                                                          : static_cast<double>(length);
    }
  }

  // Posts a concurrent schedule, all of whose messages share the links.
  void post_all(ExchangeContext& context) {
    for (const Stage& each : schedule_.stages)
      for (int time = 0; time < each.repeat; ++time) post(context, each, time);
    stage_ = schedule_.stages.size();
    posted_ = true;
  }
  // What has been asked for is on its way; it is complete when the receiver has it.
  bool all_sent(ExchangeContext& context, Ongoing& ongoing) {
    bool all = true;
    for (Outgoing& going : out_) {
      if (!going.sent && is_complete(going.request)) {
        going.sent = true;
        ongoing.somebody_came();
        last_came_s_ = std::max(last_came_s_, going.asked_by_s);
        MPI_Issend(going.message.data(), mpi_count(going.message.size()), MPI_BYTE, going.to, going.tag,
                   context.site.data, &going.request);
      }
      all = going.sent && is_complete(going.request) && all;
    }
    for (MPI_Request& question : questions_) all = is_complete(question) && all;
    return all;
  }

  bool all_through(ExchangeContext& context, Ongoing& ongoing) {
    bool all = all_sent(context, ongoing);
    for (Incoming& coming : in_) {
      if (!coming.found) {
        int here = 0, bytes = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Improbe(coming.sender, coming.tag, context.site.data, &here, &message, &status);
        if (here != 0) {
          coming.found = true;
          MPI_Get_count(&status, MPI_BYTE, &bytes);
          coming.message.resize(static_cast<std::size_t>(bytes));
          MPI_Imrecv(coming.message.data(), bytes, MPI_BYTE, &message, &coming.request);
        }
      }
      all = all && coming.found && is_complete(coming.request);
    }
    return all;
  }

  void take_all() {
    for (Incoming& coming : in_) {
      last_came_s_ = std::max(last_came_s_, take_stamp(coming.message));
      cargo_->take(coming.stage, coming.time, coming.sender, coming.message);
    }
    in_.clear();
    out_.clear();
    questions_.clear();
  }

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

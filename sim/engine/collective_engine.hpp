// Collectives in the simulation: matches the k-th operations of the members of a (group, channel), costs them
// at the fidelity chosen, computes their effect once, and tells each member when it is through.
//
// A worker may post an operation at a time that lies in its own future (it knows when its backward pass will
// be done). What `closed` and `steps` need is then only numbers, and no event is simulated; `flows` and
// `messages` start their events at that time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/early_leave.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/engine/abreast.hpp"
#include "sim/engine/groups.hpp"
#include "sim/engine/schedule_run.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

class CollectiveEngine {
 public:
  CollectiveEngine(const Job& job, Transport& transport, Groups& groups, Executor& executor,
                   const Observers& observers);
  ~CollectiveEngine();

  void start(int rank, double time_s, AnyCollective&& collective, CollectiveSlot slot);
  /// The number of the ledger channel that operations of (group, channel) are booked on.
  std::int32_t ledger_channel(GroupId group, ChannelId channel);
  double predict(int rank, const AnyCollective& collective);

  /// Of the operation as each of these groups does it. Its plans live as long as the engine.
  OfGroups of_groups(AnyCollective collective, const std::vector<GroupId>& groups);

  /// An operation of one group on its channel, looked up once for all times that it is done.
  class Prepared;
  Prepared prepare(const AnyCollective& collective);
  /// An operation that all members start, each at its `posted_s`, and what comes of it.
  struct Whole {
    std::vector<double> posted_s, arrival_s, ends_s;  // by member
    double go_s = 0;
    const Plan* plan = nullptr;

    OperationSpan span(std::size_t member, Traffic traffic) const {
      return {arrival_s[member], go_s, ends_s[member], plan->host_before_s(), plan->host_after_s(), traffic};
    }
  };
  /// The next operation of its channel; observers are told of the first `heard` members. Of recurrences that
  /// bring no values, or of what goes abreast.
  void run_whole(const Prepared& prepared, const AnyCollective& collective, const AbreastTiming* abreast,
                 std::size_t heard, Whole& whole);

  /// What has been done: for the record.
  std::vector<FidelityRecord> fidelities() const;
  /// Bytes carried until `end_s` by operations that were not simulated message by message, per link.
  void add_link_bytes(std::vector<double>& bytes, double end_s) const;
  /// Who has not arrived where: the explanation of a deadlock.
  std::string unfinished() const;

 private:
  struct Operation;
  struct Channel;
  struct PlanEntry {
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<const Schedule> custom;  // kept, so that its address stays its own
    FidelityChoice choice;
    std::string operation;
    std::uint64_t count = 0;
    double predicted_s = 0;
    bool apart = false;  // ranks have arrived at different instants; only where that decides what is exact

    void note_arrivals(const std::vector<double>& arrival_s);
  };
  struct Arrival {
    Channel* channel;
    std::uint64_t sequence;
    std::int32_t group_rank;
    double time_s;
  };

  PlanEntry& plan_for(const AnyCollective& collective);
  /// That an algorithm asks for; of messages of its own a name made for them.
  const std::string& schedule_name(const AnyCollective& collective);
  std::shared_ptr<const Plan> make_plan(const AnyCollective& collective) const;
  Channel& channel_of(GroupId group, ChannelId channel);
  Operation& post(Channel& channel, std::int32_t group_rank, double time_s, AnyCollective&& collective,
                  CollectiveSlot slot);
  void check_agreement(const Operation& operation, const AnyCollective& collective, int rank) const;
  void arrive(Channel& channel, std::uint64_t sequence, std::int32_t group_rank, double time_s);
  void process_arrivals();
  void process(const Arrival& arrival);
  void simulate(Channel& channel, Operation& operation, std::int32_t group_rank);
  void ends_of(const PlanEntry& entry, const std::vector<double>& arrival_s, const JitterDraws& jitter,
               std::vector<double>& ends_s) const;
  void finish_all(Channel& channel, Operation& operation);
  void finish_one(Channel& channel, Operation& operation, std::int32_t group_rank, double go_s, double end_s);
  void note_costed(const Operation& operation);
  struct Ended;
  void tell(const Ended& ended) const;
  void retire(Channel& channel);

  const Job& job_;
  Transport& transport_;
  Groups& groups_;
  Executor& executor_;
  const Observers& observers_;
  std::unique_ptr<JitterTable> jitter_;
  std::map<std::pair<GroupId, PlanKey>, PlanEntry> plans_;
  std::map<const Schedule*, std::string> custom_names_;  // numbered in the order of first use
  std::map<std::pair<GroupId, ChannelId>, std::unique_ptr<Channel>> channels_;
  Channel* last_channel_ = nullptr;  // that was asked for: the next is mostly the same
  /// Costed ahead of the clock, which may not come so far.
  struct Costed {
    const Plan* plan;
    double go_s, end_s;
  };
  std::vector<Costed> ahead_;
  std::size_t most_ahead_ = 64;  // before those that have ended are forgotten
  std::vector<Arrival> arrivals_;
  bool processing_ = false;
};

class CollectiveEngine::Prepared {
 public:
  std::int32_t ledger_channel() const { return ledger_; }
  double predicted_s() const { return entry_->predicted_s; }

 private:
  friend class CollectiveEngine;
  Channel* channel_ = nullptr;
  PlanEntry* entry_ = nullptr;
  std::int32_t ledger_ = 0;
};

}  // namespace simsgd

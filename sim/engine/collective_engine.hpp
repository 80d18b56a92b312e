// Collectives in the simulation: matches the k-th operations of the members of a (group, channel), costs them
// at the fidelity chosen, computes their effect once, and tells each member when it is through.
//
// A worker may post an operation at a time that lies in its own future (it knows when its backward pass will
// be done). What `closed` and `steps` need is then only numbers, and no event is simulated; `flows` and
// `messages` start their events at that time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/early_leave.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/engine/pending.hpp"
#include "sim/engine/schedule_run.hpp"
#include "sim/job.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

/// Sets of ranks by number. Shared by all workers of a run.
class Groups {
 public:
  explicit Groups(int workers);
  GroupId intern(const std::vector<int>& ranks);
  const std::vector<int>& ranks(GroupId group) const { return groups_[static_cast<std::size_t>(group)]; }
  /// Place of `rank` in the group; fails if it is not a member.
  std::int32_t place(GroupId group, int rank) const;

 private:
  std::deque<std::vector<int>> groups_;  // references to its entries stay valid
  std::map<std::vector<int>, GroupId> numbers_;
};

class CollectiveEngine {
 public:
  /// An operation of `rank` is known to have this span, and to have made it send so many bytes.
  struct Seen {
    int rank = 0;
    const Collective* collective = nullptr;  ///< sizes and kind; no contribution
    const std::string* schedule = nullptr;   ///< its name
    OperationSpan span;
    std::int32_t ledger_channel = 0;
    std::uint64_t sequence = 0;
    int group_size = 1;
    double bytes_sent = 0;
    const std::vector<double>* arrival_s = nullptr;  ///< of the members, as far as they are known
  };
  using Observer = std::function<void(const Seen&)>;

  CollectiveEngine(const Job& job, Transport& transport, Groups& groups, Executor& executor,
                   Observer observer);
  ~CollectiveEngine();

  std::shared_ptr<SimPending> start(int rank, double time_s, Collective collective);
  /// The number of the ledger channel that operations of (group, channel) are booked on.
  std::int32_t ledger_channel(GroupId group, ChannelId channel);
  double predict(int rank, const Collective& collective);

  /// What has been done: for the record.
  std::vector<FidelityRecord> fidelities() const;
  /// Bytes carried by operations that were not simulated message by message, per link.
  void add_link_bytes(std::vector<double>& bytes) const;
  /// Who has not arrived where: the explanation of a deadlock.
  std::string unfinished() const;

 private:
  struct Operation;
  struct Channel;
  struct PlanEntry {
    std::unique_ptr<Plan> plan;
    std::shared_ptr<const Schedule> custom;  // kept, so that its address stays its own
    FidelityChoice choice;
    std::string operation;
    std::uint64_t count = 0;
  };
  using PlanKey = std::tuple<GroupId, int, std::string, double, int, int>;
  struct Arrival {
    Channel* channel;
    std::uint64_t sequence;
    std::int32_t place;
    double time_s;
  };

  PlanEntry& plan_for(const Collective& collective);
  std::string schedule_name(const Collective& collective);
  Schedule make_schedule(const Collective& collective, const std::string& name) const;
  Channel& channel_of(GroupId group, ChannelId channel);
  Operation& post(Channel& channel, std::int32_t place, double time_s, Collective collective);
  void check_agreement(const Operation& operation, const Collective& collective, int rank) const;
  void arrive(Channel& channel, std::uint64_t sequence, std::int32_t place, double time_s);
  void process_arrivals();
  void process(const Arrival& arrival);
  void simulate(Channel& channel, Operation& operation, std::int32_t place);
  void finish_all(Channel& channel, Operation& operation);
  void finish_one(Channel& channel, Operation& operation, std::int32_t place, double go_s, double end_s);
  void compute_effect(Operation& operation);
  void deliver_effect(Operation& operation, std::int32_t place);
  void retire(Channel& channel);

  const Job& job_;
  Transport& transport_;
  Groups& groups_;
  Executor& executor_;
  Observer observer_;
  std::unique_ptr<JitterTable> jitter_;
  std::map<PlanKey, PlanEntry> plans_;
  std::map<const Schedule*, std::string> custom_names_;  // numbered in the order of first use
  std::map<std::pair<GroupId, ChannelId>, std::unique_ptr<Channel>> channels_;
  std::vector<Arrival> arrivals_;
  bool processing_ = false;
};

}  // namespace simsgd

// What the collective engine keeps of operations in progress.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/engine/collective_engine.hpp"

namespace simsgd {

struct CollectiveEngine::Operation {
  AnyCollective what;  // as the first member posted it, without contribution
  PlanEntry* entry = nullptr;
  std::uint64_t sequence = 0;
  int posted = 0, arrived = 0, ended = 0;
  std::vector<double> posted_s, arrival_s;  // by group rank; infinity: not yet
  std::vector<Tensor> contributions;
  std::vector<CollectiveSlot> slots;  // by group rank
  CollectiveResults results;
  std::unique_ptr<EarlyLeave> early;
  std::unique_ptr<ScheduleRun> run;
  JitterDraws jitter;

  /// By the same plan.
  bool is_like(const AnyCollective& other) const;
};

/// One member's end of an operation.
struct CollectiveEngine::Ended {
  const Channel& channel;
  const AnyCollective& what;
  const Plan& plan;
  std::uint64_t sequence;
  std::size_t member;
  const std::vector<double>& arrival_s;
  double posted_s, go_s, end_s;
};

struct CollectiveEngine::Channel {
  GroupId group = kWorld;
  ChannelId number = 0;
  std::int32_t ledger = 0;
  std::uint64_t first = 0;  // sequence number of operations.front()
  std::deque<std::unique_ptr<Operation>> operations;
  std::vector<std::uint64_t> next;     // by group rank: sequence number of its next operation
  std::vector<std::uint64_t> through;  // by group rank: operations it has ended
  std::vector<double> free_s;          // by group rank: end of its last operation

  bool is(GroupId of_group, ChannelId of_number) const { return group == of_group && number == of_number; }
  /// That the member starts next; null: nobody has started it.
  const Operation* next_of(std::size_t member) const {
    const auto ahead = static_cast<std::size_t>(next[member] - first);
    return ahead < operations.size() ? operations[ahead].get() : nullptr;
  }
  Operation& at(std::uint64_t sequence) { return *operations[static_cast<std::size_t>(sequence - first)]; }
};

}  // namespace simsgd

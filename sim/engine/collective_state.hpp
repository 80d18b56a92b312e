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

  Operation& at(std::uint64_t sequence) { return *operations[static_cast<std::size_t>(sequence - first)]; }
};

}  // namespace simsgd

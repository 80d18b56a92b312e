#include "sim/engine/collective_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/reject.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/engine/collective_state.hpp"

namespace simsgd {

Groups::Groups(int workers) {
  std::vector<int> all(static_cast<std::size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  intern(all);
}

GroupId Groups::intern(const std::vector<int>& ranks) {
  const auto [entry, fresh] = numbers_.try_emplace(ranks, static_cast<GroupId>(groups_.size()));
  if (fresh) groups_.push_back(ranks);
  return entry->second;
}

std::int32_t Groups::place(GroupId group, int rank) const {
  if (group == kWorld) return rank;
  const std::vector<int>& members = ranks(group);
  const auto found = std::lower_bound(members.begin(), members.end(), rank);
  CHECK(found != members.end() && *found == rank,
        "a rank started a collective of a group it does not belong to");
  return static_cast<std::int32_t>(found - members.begin());
}

CollectiveEngine::CollectiveEngine(const Job& job, Transport& transport, Groups& groups, Executor& executor,
                                   Observer observer)
    : job_(job), transport_(transport), groups_(groups), executor_(executor), observer_(std::move(observer)) {
  if (job.network.has_jitter()) jitter_ = std::make_unique<JitterTable>(job.network.jitter);
}

CollectiveEngine::~CollectiveEngine() = default;

std::string CollectiveEngine::schedule_name(const Collective& collective) {
  if (collective.custom) {
    const auto [name, fresh] = custom_names_.try_emplace(collective.custom.get());
    if (fresh) name->second = fmt::format("{}#{}", collective.custom->name, custom_names_.size());
    return name->second;
  }
  if (!collective.schedule.empty()) return collective.schedule;
  const auto chosen = job_.network.schedule.find(collective.op);
  return chosen == job_.network.schedule.end() ? default_schedule(collective.op) : chosen->second;
}

Schedule CollectiveEngine::make_schedule(const Collective& collective, const std::string& name) const {
  if (collective.custom) return *collective.custom;
  const SchedulePlugin* plugin = find_schedule(collective.op, name);
  CHECK(plugin != nullptr, fmt::format("there is no schedule {} for {}", name, op_name(collective.op)));
  const std::vector<int>& ranks = groups_.ranks(collective.group);
  try {
    return plugin->make({static_cast<int>(ranks.size()), collective.bytes, collective.root,
                         ranks_per_node(job_.cluster, ranks)});
  } catch (const ParameterError& error) {
    throw RunError(
        fmt::format("The schedule {} cannot be used here: {}. {}.", name, error.problem, error.remedy));
  }
}

CollectiveEngine::PlanEntry& CollectiveEngine::plan_for(const Collective& collective) {
  const std::string name = schedule_name(collective);
  PlanEntry& entry = plans_[{collective.group, static_cast<int>(collective.op), name, collective.bytes,
                             collective.root, collective.tensors}];
  if (entry.plan) return entry;
  Schedule schedule = make_schedule(collective, name);
  const std::string shown = schedule.name;
  const std::vector<int>& ranks = groups_.ranks(collective.group);
  entry.custom = collective.custom;
  entry.plan =
      std::make_unique<Plan>(std::move(schedule), job_.cluster, ranks, collective.bytes, collective.tensors);
  entry.choice = entry.plan->choose(job_.network.fidelity, jitter_ != nullptr);
  entry.operation = fmt::format("{} by {} among {}", op_name(collective.op), shown, ranks.size());
  return entry;
}

CollectiveEngine::Channel& CollectiveEngine::channel_of(GroupId group, ChannelId number) {
  std::unique_ptr<Channel>& channel = channels_[{group, number}];
  if (!channel) {
    const std::size_t members = groups_.ranks(group).size();
    channel = std::make_unique<Channel>();
    channel->group = group;
    channel->number = number;
    channel->ledger = static_cast<std::int32_t>(channels_.size());  // 0 is for messages
    channel->next.assign(members, 0);
    channel->through.assign(members, 0);
    channel->free_s.assign(members, 0.0);
  }
  return *channel;
}

std::int32_t CollectiveEngine::ledger_channel(GroupId group, ChannelId channel) {
  return channel_of(group, channel).ledger;
}

double CollectiveEngine::predict(int rank, const Collective& collective) {
  groups_.place(collective.group, rank);
  const Plan& plan = *plan_for(collective).plan;
  return plan.sharing().dedicated ? plan.dedicated_time_s() : plan.contended_time_s();
}

void CollectiveEngine::check_agreement(const Operation& operation, const Collective& collective,
                                       int rank) const {
  const Collective& first = operation.what;
  if (first.op == collective.op && first.bytes == collective.bytes && first.root == collective.root) return;
  throw RunError(fmt::format(
      "Rank {} started {} of {} bytes as operation {} of its channel, where another rank "
      "started {} of {} bytes: the algorithm's ranks disagree.",
      rank, op_name(collective.op), collective.bytes, operation.sequence, op_name(first.op), first.bytes));
}

CollectiveEngine::Operation& CollectiveEngine::post(Channel& channel, std::int32_t place, double time_s,
                                                    Collective collective) {
  const auto p = static_cast<std::size_t>(place);
  const std::uint64_t sequence = channel.next[p]++;
  if (sequence - channel.first == channel.operations.size()) {
    const std::size_t members = channel.next.size();
    auto fresh = std::make_unique<Operation>();
    fresh->sequence = sequence;
    fresh->what = collective;
    fresh->what.contribution = {};
    fresh->entry = &plan_for(collective);
    ++fresh->entry->count;
    fresh->posted_s.assign(members, std::numeric_limits<double>::infinity());
    fresh->arrival_s.assign(members, std::numeric_limits<double>::infinity());
    fresh->contributions.resize(members);
    fresh->pendings.resize(members);
    fresh->jitter = {jitter_.get(), job_.seed, static_cast<std::uint32_t>(channel.ledger), sequence};
    channel.operations.push_back(std::move(fresh));
  }
  Operation& operation = channel.at(sequence);
  check_agreement(operation, collective, groups_.ranks(channel.group)[p]);
  operation.posted_s[p] = time_s;
  operation.contributions[p] = std::move(collective.contribution);
  operation.pendings[p] = std::make_shared<SimPending>();
  operation.pendings[p]->channel = channel.ledger;
  ++operation.posted;
  return operation;
}

std::shared_ptr<SimPending> CollectiveEngine::start(int rank, double time_s, Collective collective) {
  const std::int32_t place = groups_.place(collective.group, rank);
  const auto p = static_cast<std::size_t>(place);
  Channel& channel = channel_of(collective.group, collective.channel);
  Operation& operation = post(channel, place, time_s, std::move(collective));
  std::shared_ptr<SimPending> pending = operation.pendings[p];
  if (channel.through[p] == operation.sequence) {
    arrive(channel, operation.sequence, place, std::max(time_s, channel.free_s[p]));
    process_arrivals();
  }
  return pending;
}

void CollectiveEngine::arrive(Channel& channel, std::uint64_t sequence, std::int32_t place, double time_s) {
  arrivals_.push_back({&channel, sequence, place, time_s});
}

// A loop instead of a recursion: the end of one operation may be the arrival at the next, hundreds in a row.
void CollectiveEngine::process_arrivals() {
  if (processing_) return;
  processing_ = true;
  for (std::size_t next = 0; next < arrivals_.size(); ++next) {
    const Arrival arrival = arrivals_[next];  // a copy: more may come meanwhile
    process(arrival);
  }
  arrivals_.clear();
  processing_ = false;
}

void CollectiveEngine::process(const Arrival& arrival) {
  Channel& channel = *arrival.channel;
  Operation& operation = channel.at(arrival.sequence);
  operation.arrival_s[static_cast<std::size_t>(arrival.place)] = arrival.time_s;
  ++operation.arrived;
  const Plan& plan = *operation.entry->plan;
  const Fidelity fidelity = operation.entry->choice.fidelity;
  const JitterDraws* jitter = operation.jitter.table ? &operation.jitter : nullptr;
  if (fidelity == Fidelity::flows || fidelity == Fidelity::messages) {
    simulate(channel, operation, arrival.place);
  } else if (!plan.schedule().all_wait_for_all) {
    if (!operation.early)
      operation.early = std::make_unique<EarlyLeave>(plan, jitter, fidelity == Fidelity::closed);
    std::vector<EarlyLeave::End> ends;
    operation.early->arrive(arrival.place, arrival.time_s, ends);
    for (const EarlyLeave::End& end : ends)
      finish_one(channel, operation, end.rank, end.last_arrival_s, end.end_s);
  } else if (operation.arrived == plan.ranks()) {
    finish_all(channel, operation);
  }
}

// `flows` and `messages`: the member at `place` has arrived.
void CollectiveEngine::simulate(Channel& channel, Operation& operation, std::int32_t place) {
  const Plan& plan = *operation.entry->plan;
  if (!operation.run) {
    const std::uint64_t sequence = operation.sequence;
    operation.run = std::make_unique<ScheduleRun>(ScheduleRun::Setup{
        &plan, &transport_, &groups_.ranks(channel.group), operation.jitter,
        operation.entry->choice.fidelity == Fidelity::flows,
        [this, &channel, sequence](std::int32_t ended_place, double end_s) {
          Operation& ended = channel.at(sequence);
          const double last = *std::max_element(ended.arrival_s.begin(), ended.arrival_s.end());
          finish_one(channel, ended, ended_place, std::min(last, end_s), end_s);
          process_arrivals();
        }});
  }
  ScheduleRun* run = operation.run.get();
  if (!plan.schedule().together) {
    transport_.at(operation.arrival_s[static_cast<std::size_t>(place)], [run, place] { run->arrive(place); });
  } else if (operation.arrived == plan.ranks()) {
    const double last = *std::max_element(operation.arrival_s.begin(), operation.arrival_s.end());
    transport_.at(last, [run, ranks = plan.ranks()] {
      for (std::int32_t each = 0; each < ranks; ++each) run->arrive(each);
    });
  }
}

void CollectiveEngine::finish_all(Channel& channel, Operation& operation) {
  const Plan& plan = *operation.entry->plan;
  std::vector<double> ends;
  if (operation.entry->choice.fidelity == Fidelity::closed)
    plan.ends_by_closed_form(operation.arrival_s, ends);
  else
    plan.ends_by_steps(operation.arrival_s, operation.jitter.table ? &operation.jitter : nullptr, ends);
  const double last = *std::max_element(operation.arrival_s.begin(), operation.arrival_s.end());
  for (std::int32_t place = 0; place < plan.ranks(); ++place)
    finish_one(channel, operation, place, last, ends[static_cast<std::size_t>(place)]);
}

void CollectiveEngine::finish_one(Channel& channel, Operation& operation, std::int32_t place, double go_s,
                                  double end_s) {
  const auto p = static_cast<std::size_t>(place);
  const Plan& plan = *operation.entry->plan;
  deliver_effect(operation, place);
  const OperationSpan span{operation.arrival_s[p], go_s, end_s, plan.host_before_s(), plan.host_after_s(),
                           operation.what.traffic};
  observer_({groups_.ranks(channel.group)[p], &operation.what, &plan.schedule().name, span, channel.ledger,
             operation.sequence, plan.ranks(), plan.bytes_sent()[p], &operation.arrival_s});
  channel.free_s[p] = end_s;
  channel.through[p] = operation.sequence + 1;
  const std::shared_ptr<SimPending> pending = std::move(operation.pendings[p]);
  const std::uint64_t following = operation.sequence + 1;
  const bool last = ++operation.ended == plan.ranks();
  if (channel.next[p] > following) {
    const double posted = channel.at(following).posted_s[p];
    arrive(channel, following, place, std::max(posted, end_s));
  }
  if (last) retire(channel);  // `operation` may be gone from here on
  pending->complete(end_s);
}

void CollectiveEngine::retire(Channel& channel) {
  while (!channel.operations.empty() &&
         channel.operations.front()->ended == channel.operations.front()->entry->plan->ranks()) {
    if (channel.operations.front()->run) {
      // Its callbacks may still be on the stack: freed at the next event.
      std::shared_ptr<Operation> kept = std::move(channel.operations.front());
      transport_.at(transport_.now(), [kept] {});
    }
    channel.operations.pop_front();
    ++channel.first;
  }
}

}  // namespace simsgd

#include "sim/engine/collective_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

// What the collective engine keeps of operations in progress.

struct CollectiveEngine::Operation {
  AnyCollective what;  // as the first member posted it, without contribution
  PlanEntry* entry = nullptr;
  std::uint64_t sequence = 0;
  int posted = 0, arrived = 0, ended = 0;
  double go_s = 0, end_s = 0;               // of the last of those that ended
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
  std::vector<std::unique_ptr<Operation>> unused;  // for their memory
  std::vector<std::uint64_t> next;                 // by group rank: sequence number of its next operation
  std::vector<std::uint64_t> through;              // by group rank: operations it has ended
  std::vector<double> free_s;                      // by group rank: end of its last operation

  bool is(GroupId of_group, ChannelId of_number) const { return group == of_group && number == of_number; }
  /// That the member starts next; null: nobody has started it.
  const Operation* next_of(std::size_t member) const {
    const auto ahead = static_cast<std::size_t>(next[member] - first);
    return ahead < operations.size() ? operations[ahead].get() : nullptr;
  }
  Operation& at(std::uint64_t sequence) { return *operations[static_cast<std::size_t>(sequence - first)]; }
};

namespace {

/// An algorithm's own; null: by name.
const std::shared_ptr<const Schedule>& messages_of(const AnyCollective& collective) {
  static const std::shared_ptr<const Schedule> kNone;
  const auto* custom = std::get_if<CustomCollective>(&collective);
  return custom ? custom->messages : kNone;
}

}  // namespace

bool CollectiveEngine::Operation::is_like(const AnyCollective& other) const {
  const CollectiveOptions &own = options_of(what), &options = options_of(other);
  return op_of(what) == op_of(other) && own.bytes == options.bytes && own.tensors == options.tensors &&
         own.times == options.times && root_of(what) == root_of(other) && own.schedule == options.schedule &&
         messages_of(what) == messages_of(other);
}

CollectiveEngine::CollectiveEngine(const Job& job, Transport& transport, Groups& groups, Executor& executor,
                                   const Observers& observers)
    : job_(job), transport_(transport), groups_(groups), executor_(executor), observers_(observers) {
  if (job.network.has_jitter()) jitter_ = std::make_unique<JitterTable>(job.network.jitter);
}

CollectiveEngine::~CollectiveEngine() = default;

const std::string& CollectiveEngine::schedule_name(const AnyCollective& collective) {
  const Schedule* messages = messages_of(collective).get();
  if (messages == nullptr) return options_of(collective).schedule;
  const auto [name, fresh] = custom_names_.try_emplace(messages);
  if (fresh) name->second = fmt::format("{}#{}", messages->name, custom_names_.size());
  return name->second;
}

std::shared_ptr<const Plan> CollectiveEngine::make_plan(const AnyCollective& collective) const {
  const CollectiveOptions& options = options_of(collective);
  const std::vector<int>& ranks = groups_.ranks(options.group);
  if (const auto& messages = messages_of(collective))
    return std::make_shared<Plan>(scaled(*messages, std::get<CustomCollective>(collective).size),
                                  job_.cluster, ranks, options.bytes, options.tensors, LibraryCosts(),
                                  options.times);
  return std::make_shared<Plan>(plan_by_policy(job_.network.collectives, job_.cluster, ranks,
                                               {op_of(collective), options.bytes, root_of(collective),
                                                options.tensors, options.schedule, options.times}));
}

CollectiveEngine::PlanEntry& CollectiveEngine::plan_for(const AnyCollective& collective) {
  const CollectiveOptions& options = options_of(collective);
  const PlanKey key = {op_of(collective),   schedule_name(collective), options.bytes,
                       root_of(collective), options.tensors,           options.times};
  PlanEntry& entry = plans_[{options.group, key}];
  if (entry.plan) return entry;
  entry.custom = messages_of(collective);
  std::shared_ptr<const Plan> own;
  auto& known = job_.known_plans && options.group == kWorld && !entry.custom ? (*job_.known_plans)[key] : own;
  if (!known) known = make_plan(collective);
  entry.plan = known;
  entry.predicted_s = simsgd::predicted_s(*entry.plan);
  entry.choice = entry.plan->choose(job_.network.fidelity, jitter_ != nullptr, Beside::computing);
  entry.operation = fmt::format("{} by {} among {}", op_name(op_of(collective)),
                                entry.plan->measured_s() ? "measured times" : entry.plan->schedule().name,
                                entry.plan->ranks());
  return entry;
}

CollectiveEngine::Channel& CollectiveEngine::channel_of(GroupId group, ChannelId number) {
  if (last_channel_ && last_channel_->is(group, number)) return *last_channel_;
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
  last_channel_ = channel.get();
  return *channel;
}

std::int32_t CollectiveEngine::ledger_channel(GroupId group, ChannelId channel) {
  return channel_of(group, channel).ledger;
}

// Mostly what is asked for is what others have started already: then it is found without its name.
double CollectiveEngine::predict(int rank, const AnyCollective& collective) {
  const CollectiveOptions& options = options_of(collective);
  const auto member = static_cast<std::size_t>(groups_.rank_in(options.group, rank));
  if (last_channel_ && last_channel_->is(options.group, options.channel)) {
    const Operation* next = last_channel_->next_of(member);
    if (next && next->is_like(collective)) return next->entry->predicted_s;
  }
  return plan_for(collective).predicted_s;
}

void CollectiveEngine::check_agreement(const Operation& operation, const AnyCollective& collective,
                                       int rank) const {
  const auto said = [](const AnyCollective& each) {
    return std::tuple(op_of(each), options_of(each).bytes, root_of(each));
  };
  const AnyCollective& first = operation.what;
  if (said(first) == said(collective)) return;
  throw RunError(fmt::format(
      "Rank {} started {} of {} bytes as operation {} of its channel, but another rank started {} of {} bytes: the algorithm's ranks disagree.",
      rank, op_name(op_of(collective)), options_of(collective).bytes, operation.sequence,
      op_name(op_of(first)), options_of(first).bytes));
}

CollectiveEngine::Operation& CollectiveEngine::post(Channel& channel, std::int32_t group_rank, double time_s,
                                                    AnyCollective&& collective, CollectiveSlot slot) {
  const auto p = static_cast<std::size_t>(group_rank);
  const std::uint64_t sequence = channel.next[p]++;
  if (sequence - channel.first == channel.operations.size()) {
    const std::size_t members = channel.next.size();
    std::unique_ptr<Operation> fresh;
    if (channel.unused.empty()) {
      fresh = std::make_unique<Operation>();
    } else {
      fresh = std::move(channel.unused.back());
      channel.unused.pop_back();
    }
    fresh->sequence = sequence;
    fresh->posted = fresh->arrived = fresh->ended = 0;
    fresh->go_s = fresh->end_s = 0;
    fresh->what = collective;
    options_of(fresh->what).contribution = {};
    fresh->entry = &plan_for(collective);
    fresh->posted_s.assign(members, std::numeric_limits<double>::infinity());
    fresh->arrival_s.assign(members, std::numeric_limits<double>::infinity());
    fresh->contributions.assign(members, {});
    fresh->slots.assign(members, {});
    fresh->results = {};
    fresh->jitter = {jitter_.get(), job_.seed, static_cast<std::uint32_t>(channel.ledger), sequence};
    channel.operations.push_back(std::move(fresh));
  }
  Operation& operation = channel.at(sequence);
  check_agreement(operation, collective, groups_.ranks(channel.group)[p]);
  operation.posted_s[p] = time_s;
  operation.contributions[p] = std::move(options_of(collective).contribution);
  operation.slots[p] = std::move(slot);
  operation.slots[p].pending->channel = channel.ledger;
  ++operation.posted;
  return operation;
}

void CollectiveEngine::start(int rank, double time_s, AnyCollective&& collective, CollectiveSlot slot) {
  const CollectiveOptions& options = options_of(collective);
  const std::int32_t group_rank = groups_.rank_in(options.group, rank);
  const auto p = static_cast<std::size_t>(group_rank);
  Channel& channel = channel_of(options.group, options.channel);
  const Operation& operation = post(channel, group_rank, time_s, std::move(collective), std::move(slot));
  if (channel.through[p] == operation.sequence) {
    arrive(channel, operation.sequence, group_rank, std::max(time_s, channel.free_s[p]));
    process_arrivals();
  }
}

void CollectiveEngine::arrive(Channel& channel, std::uint64_t sequence, std::int32_t group_rank,
                              double time_s) {
  arrivals_.push_back({&channel, sequence, group_rank, time_s});
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
  operation.arrival_s[static_cast<std::size_t>(arrival.group_rank)] = arrival.time_s;
  ++operation.arrived;
  const Plan& plan = *operation.entry->plan;
  const Fidelity fidelity = operation.entry->choice.fidelity;
  const JitterDraws* jitter = operation.jitter.table ? &operation.jitter : nullptr;
  if (fidelity == Fidelity::flows || fidelity == Fidelity::messages) {
    simulate(channel, operation, arrival.group_rank);
  } else if (!plan.schedule().all_wait_for_all) {
    if (!operation.early)
      operation.early = std::make_unique<EarlyLeave>(plan, jitter, fidelity == Fidelity::closed);
    std::vector<EarlyLeave::End> ends;
    operation.early->arrive(arrival.group_rank, arrival.time_s, ends);
    for (const EarlyLeave::End& end : ends)
      finish_one(channel, operation, end.rank, end.last_arrival_s, end.end_s);
  } else if (operation.arrived == plan.ranks()) {
    finish_all(channel, operation);
  }
}

// `flows` and `messages`: the member `group_rank` has arrived.
void CollectiveEngine::simulate(Channel& channel, Operation& operation, std::int32_t group_rank) {
  const Plan& plan = *operation.entry->plan;
  if (!operation.run) {
    const std::uint64_t sequence = operation.sequence;
    operation.run = std::make_unique<ScheduleRun>(ScheduleRun::Setup{
        &plan, &transport_, &groups_.ranks(channel.group), operation.jitter,
        operation.entry->choice.fidelity == Fidelity::flows,
        [this, &channel, sequence](std::int32_t ended_place, double end_s, double last_arrival_s) {
          finish_one(channel, channel.at(sequence), ended_place, last_arrival_s, end_s);
          process_arrivals();
        }});
  }
  if (!plan.schedule().together)
    operation.run->arrives_at(group_rank, operation.arrival_s[static_cast<std::size_t>(group_rank)]);
  else if (operation.arrived == plan.ranks())
    operation.run->all_arrive_at(*std::max_element(operation.arrival_s.begin(), operation.arrival_s.end()));
}

void CollectiveEngine::ends_of(const PlanEntry& entry, const std::vector<double>& arrival_s,
                               const JitterDraws& jitter, std::vector<double>& ends_s) const {
  if (entry.choice.fidelity == Fidelity::closed)
    entry.plan->ends_by_closed_form(arrival_s, ends_s);
  else
    entry.plan->ends_by_steps(arrival_s, jitter.table ? &jitter : nullptr, ends_s);
}

void CollectiveEngine::finish_all(Channel& channel, Operation& operation) {
  std::vector<double> ends;
  ends_of(*operation.entry, operation.arrival_s, operation.jitter, ends);
  const double last = *std::max_element(operation.arrival_s.begin(), operation.arrival_s.end());
  const std::int32_t ranks = operation.entry->plan->ranks();  // the operation is gone with the last one
  for (std::int32_t group_rank = 0; group_rank < ranks; ++group_rank)
    finish_one(channel, operation, group_rank, last, ends[static_cast<std::size_t>(group_rank)]);
}

OfGroups CollectiveEngine::of_groups(AnyCollective collective, const std::vector<GroupId>& groups) {
  OfGroups all;
  for (const GroupId group : groups) {
    options_of(collective).group = group;
    const PlanEntry& entry = plan_for(collective);
    all.ranks.push_back(&groups_.ranks(group));
    all.plans.push_back(entry.plan.get());
    all.fidelities.push_back(entry.choice.fidelity);
  }
  return all;
}

CollectiveEngine::Prepared CollectiveEngine::prepare(const AnyCollective& collective) {
  Prepared prepared;
  prepared.channel_ = &channel_of(options_of(collective).group, options_of(collective).channel);
  prepared.entry_ = &plan_for(collective);
  prepared.ledger_ = prepared.channel_->ledger;
  return prepared;
}

void CollectiveEngine::run_whole(const Prepared& prepared, const AnyCollective& collective,
                                 const AbreastTiming* abreast, std::size_t heard, Whole& whole) {
  Channel& channel = *prepared.channel_;
  PlanEntry& entry = *prepared.entry_;
  whole.plan = entry.plan.get();
  whole.arrival_s.resize(whole.posted_s.size());
  for (std::size_t p = 0; p < whole.posted_s.size(); ++p)
    whole.arrival_s[p] = std::max(whole.posted_s[p], channel.free_s[p]);
  const std::uint64_t sequence = channel.first++;
  if (abreast) {
    abreast->ends(whole.arrival_s, whole.ends_s);
    transport_.have_passed(abreast->events(), entry.plan->link_bytes());
  } else {
    ends_of(entry, whole.arrival_s,
            {jitter_.get(), job_.seed, static_cast<std::uint32_t>(channel.ledger), sequence}, whole.ends_s);
  }
  whole.go_s = *std::max_element(whole.arrival_s.begin(), whole.arrival_s.end());
  for (std::size_t p = 0; p < heard; ++p)
    tell({channel, collective, *entry.plan, sequence, p, whole.arrival_s, whole.posted_s[p], whole.go_s,
          whole.ends_s[p]});
  channel.free_s = whole.ends_s;
  entry.note_arrivals(whole.arrival_s);
  ++entry.count;
}

void CollectiveEngine::tell(const Ended& ended) const {
  const std::size_t p = ended.member;
  const CollectiveOptions& options = options_of(ended.what);
  const OperationSpan span{ended.arrival_s[p],        ended.go_s,     ended.end_s, ended.plan.host_before_s(),
                           ended.plan.host_after_s(), options.traffic};
  const std::vector<int>& members = groups_.ranks(ended.channel.group);
  const int rank = members[p];
  observers_.tell(Topic::time, &Observer::operation, rank, ended.channel.ledger, span);
  observers_.tell(Topic::time, &Observer::sent, rank, options.traffic, ended.plan.bytes_sent()[p]);
  observers_.tell(
      Topic::drawing, &Observer::collective,
      CollectiveSeen{rank, op_of(ended.what), options, ended.plan.schedule().name, span, ended.channel.ledger,
                     ended.sequence, members, ended.arrival_s, ended.posted_s});
}

void CollectiveEngine::finish_one(Channel& channel, Operation& operation, std::int32_t group_rank,
                                  double go_s, double end_s) {
  const auto p = static_cast<std::size_t>(group_rank);
  const Plan& plan = *operation.entry->plan;
  operation.results.deliver(executor_, operation.what, operation.contributions,
                            operation.posted == plan.ranks(), group_rank, operation.slots[p]);
  tell({channel, operation.what, plan, operation.sequence, p, operation.arrival_s, operation.posted_s[p],
        go_s, end_s});
  channel.free_s[p] = end_s;
  channel.through[p] = operation.sequence + 1;
  const std::shared_ptr<Pending> pending = std::move(operation.slots[p].pending);
  const std::uint64_t following = operation.sequence + 1;
  operation.go_s = std::max(operation.go_s, go_s);
  operation.end_s = std::max(operation.end_s, end_s);
  const bool last = ++operation.ended == plan.ranks();
  if (last) note_costed(operation);
  if (channel.next[p] > following) {
    const double posted = channel.at(following).posted_s[p];
    arrive(channel, following, group_rank, std::max(posted, end_s));
  }
  if (last) retire(channel);  // `operation` may be gone from here on
  pending->complete(end_s);
}

void CollectiveEngine::note_costed(const Operation& operation) {
  operation.entry->note_arrivals(operation.arrival_s);
  ++operation.entry->count;
  if (ahead_.size() == most_ahead_) {
    std::erase_if(ahead_, [now_s = transport_.now()](const Costed& each) { return each.end_s <= now_s; });
    most_ahead_ = std::max(most_ahead_, 2 * ahead_.size());
  }
  if (operation.run == nullptr)
    ahead_.push_back({operation.entry->plan.get(), operation.go_s, operation.end_s});
}

void CollectiveEngine::retire(Channel& channel) {
  while (!channel.operations.empty() &&
         channel.operations.front()->ended == channel.operations.front()->entry->plan->ranks()) {
    if (channel.operations.front()->run) {
      // Its callbacks may still be on the stack: freed at the next event.
      std::shared_ptr<Operation> kept = std::move(channel.operations.front());
      transport_.at(transport_.now(), [kept] {});
    } else {
      channel.operations.front()->contributions.clear();
      channel.operations.front()->early.reset();
      channel.unused.push_back(std::move(channel.operations.front()));
    }
    channel.operations.pop_front();
    ++channel.first;
  }
}

std::string CollectiveEngine::unfinished() const {
  std::string text;
  for (const auto& [key, channel] : channels_) {
    if (channel->operations.empty()) continue;
    const Operation& operation = *channel->operations.front();
    std::string missing;
    int count = 0;
    for (std::size_t p = 0; p < operation.posted_s.size(); ++p) {
      if (operation.posted_s[p] != std::numeric_limits<double>::infinity()) continue;
      if (++count <= 8)
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", groups_.ranks(key.first)[p]);
    }
    if (count > 8) missing += fmt::format(" and {} more", count - 8);
    text += fmt::format(" {} ({} of {} ranks have come; missing: {}).", operation.entry->operation,
                        operation.posted, operation.posted_s.size(), count == 0 ? "none" : missing);
  }
  return text;
}

}  // namespace simsgd

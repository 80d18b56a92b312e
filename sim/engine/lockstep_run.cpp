#include "sim/engine/lockstep_run.hpp"

#include <algorithm>
#include <numeric>

#include "sim/algorithm.hpp"
#include "sim/base/fetch.hpp"
#include "sim/base/instants.hpp"
#include "sim/record.hpp"

namespace simsgd {

std::unique_ptr<LockstepRun> LockstepRun::make(World& world, const SimWorker::Steps& steps,
                                               std::size_t heard) {
  const Job& job = world.job;
  if (dynamic_cast<const LockstepAlgorithm*>(job.algorithm.get()) == nullptr || job.learner ||
      steps.end.in_time_order() || job.cluster.handover.blocking ||
      job.cluster.device.communication_share.value_or(1) < 1)
    return nullptr;
  std::optional<StepTrace> trace = trace_steps(world);
  if (!trace || (job.stop.steps < 2 && !trace->steps.after.empty())) return nullptr;
  std::map<GroupId, Split> splits = splits_of(*trace, world);
  if (splits.size() > 1 && job.network.has_jitter()) return nullptr;  // it depends on who is first
  for (AnyCollective& operation : trace->operations) {
    if (world.negotiator.negotiates(operation)) return nullptr;
    world.negotiator.send_in_place(operation);
  }
  std::vector<OfGroups> operations;
  for (const AnyCollective& each : trace->operations)
    operations.push_back(world.collectives.of_groups(each, splits.at(options_of(each).group).parts));
  std::optional<AbreastTimings> timings = time_abreast(job.cluster, *trace, operations);
  if (!timings) return nullptr;
  return std::unique_ptr<LockstepRun>(
      new LockstepRun(world, steps, heard, std::move(*trace), std::move(splits), std::move(*timings)));
}

std::map<GroupId, LockstepRun::Split> LockstepRun::splits_of(const StepTrace& trace, const World& world) {
  std::map<GroupId, Split> all;
  const auto add = [&](GroupId of_first, const auto& group_of) {
    Split& split = all[of_first];
    for (int rank = 0; rank < world.job.workers(); ++rank) {
      const GroupId group = group_of(static_cast<std::size_t>(rank));
      const auto part = std::find(split.parts.begin(), split.parts.end(), group);
      split.of_rank.push_back({static_cast<std::size_t>(part - split.parts.begin()),
                               static_cast<std::size_t>(world.groups.rank_in(group, rank))});
      if (part == split.parts.end()) split.parts.push_back(group);
    }
  };
  add(kWorld, [](std::size_t) { return kWorld; });
  for (std::size_t i = 0; i < trace.groups.front().size(); ++i)
    if (!all.contains(trace.groups.front()[i]))
      add(trace.groups.front()[i], [&](std::size_t rank) { return trace.groups[rank].at(i); });
  return all;
}

LockstepRun::LockstepRun(World& world, const SimWorker::Steps& steps, std::size_t heard, StepTrace trace,
                         std::map<GroupId, Split> splits, AbreastTimings timings)
    : world_(world),
      steps_(steps),
      heard_(heard),
      trace_(std::move(trace)),
      unheard_(trace_.steps),
      splits_(std::move(splits)),
      in_time_order_(splits_.size() > 1),
      step_s_(world.job.workload.micro_batches * (world.times.forward_s + world.times.backward_s)),
      clocks_(static_cast<std::size_t>(world.job.workers())),
      ranks_(clocks_.size()),
      simulated_(begin_alike() ? 1 : clocks_.size()),
      alike_(clocks_.size()),
      marks_s_(heard, std::vector<double>(trace_.marks)) {
  for (StepTrace::Actions* actions : {&unheard_.first, &unheard_.others, &unheard_.after})
    std::erase_if(*actions, [](const StepTrace::Action& each) {
      return each.kind == StepTrace::Action::Kind::mark || each.kind == StepTrace::Action::Kind::span;
    });
  for (AnyCollective& operation : trace_.operations) {
    const CollectiveOptions& options = options_of(operation);
    prepared_.push_back({operation, options.traffic, splits_.at(options.group), {}, {}});
    Prepared& prepared = prepared_.back();
    prepared.abreast = std::move(timings[prepared_.size() - 1]);
    for (const GroupId part : prepared.split.parts) {
      options_of(operation).group = part;
      prepared.parts.push_back(world.collectives.prepare(operation));
    }
  }
  std::iota(simulated_.begin(), simulated_.end(), 0);
  alike_.front().resize(clocks_.size() - simulated_.size());
  std::iota(alike_.front().begin(), alike_.front().end(), 1);
  for (const int rank : simulated_) {
    add_clock(static_cast<std::size_t>(rank));
    if (world.job.failures.any()) crashes_.emplace_back(world.job.failures, world.job.seed, rank);
  }
}

// Until their first operation ends.
bool LockstepRun::begin_alike() const {
  const Job& job = world_.job;
  return heard_ == 0 && !in_time_order_ && job.stragglers.empty() && !job.failures.any() &&
         job.workload.compute_factor.kind == Distribution::Kind::constant && job.cluster.node_speed.empty() &&
         !job.network.has_jitter();
}

void LockstepRun::add_clock(std::size_t rank) {
  clocks_[rank].emplace(static_cast<int>(rank), world_.job, world_.fibers, world_.transport,
                        world_.interference, ledger_of(rank), hears(rank) ? world_.beside_ledgers : nobody_);
}

// The operation is known, and nobody has gone on yet.
void LockstepRun::part_ways(const Operation::Part& part) {
  const std::vector<double>& ends_s = part.whole.ends_s;
  const std::vector<double>& sent = part.whole.plan->bytes_sent();
  for (std::size_t i = 0; i < simulated_.size(); ++i) {
    const auto rank = static_cast<std::size_t>(simulated_[i]);
    std::vector<int>& alike = alike_[rank];
    const auto same = [&, end_s = ends_s[rank], bytes = sent[rank]](int other) {
      return ends_s[static_cast<std::size_t>(other)] == end_s &&
             sent[static_cast<std::size_t>(other)] == bytes;
    };
    if (std::all_of(alike.begin(), alike.end(), same)) continue;
    const auto others = std::stable_partition(alike.begin(), alike.end(), same);
    const int first = *others;
    alike_[static_cast<std::size_t>(first)].assign(others + 1, alike.end());
    alike.erase(others, alike.end());
    simulated_.push_back(first);
    stand_in(static_cast<std::size_t>(first), rank);
  }
}

// From now on for itself and those that are alike; so far the other has done what it does.
void LockstepRun::stand_in(std::size_t rank, std::size_t other) {
  ranks_[rank] = ranks_[other];
  if (other == running_) ++ranks_[rank].next;  // it is starting the operation
  ledger_of(rank) = ledger_of(other);
  add_clock(rank);
  clocks_[rank]->take_over(*clocks_[other]);
  if (ranks_[rank].awaits == 0)
    ready_.push_back(rank);
  else
    ++waiting_;
  following_ += ranks_[rank].following.size();
}

void LockstepRun::run() {
  for (int rank = 0; rank < std::max(1, static_cast<int>(heard_)); ++rank) {
    for (const RecordTable& table : trace_.tables)
      world_.observers.tell(Topic::said, &Observer::table, rank, table);
    for (const auto& [name, value] : trace_.numbers)
      world_.observers.tell(Topic::said, &Observer::number, rank, name, value);
  }
  ready_.assign(simulated_.begin(), simulated_.end());
  if (in_time_order_)
    for (const std::size_t rank : std::exchange(ready_, {})) due_.put(static_cast<std::uint32_t>(rank), 0);
  while (!due_.empty()) {
    const std::size_t rank = due_.front().number;
    due_.take_front();
    go_on(rank);
  }
  while (!ready_.empty()) {
    turn_.swap(ready_);
    for (std::size_t i = 0; i < turn_.size(); ++i) {
      if (i + 1 < turn_.size()) fetch_rank(turn_[i + 1]);
      go_on(turn_[i]);
    }
    turn_.clear();
  }
  for (const int each : simulated_) {
    const auto rank = static_cast<std::size_t>(each);
    tell_ledger(rank, ranks_[rank].started);
    for (const int other : alike_[rank]) world_.ledgers.of(other) = ledger_of(rank);
  }
}

void LockstepRun::fetch_rank(std::size_t rank) {
  fetch(&ranks_[rank], sizeof ranks_[rank]);
  fetch(&clocks_[rank], sizeof clocks_[rank]);
  fetch(&ledger_of(rank), sizeof(Ledger));
}

const StepTrace::Actions& LockstepRun::actions_of(std::size_t rank) const {
  static const StepTrace::Actions kNone;
  const Rank& state = ranks_[rank];
  const StepTrace::Steps& steps = hears(rank) ? trace_.steps : unheard_;
  if (state.over) return steps.after;
  return state.step == 0 ? kNone : state.step == 1 ? steps.first : steps.others;
}

void LockstepRun::go_on(std::size_t rank) {
  using Kind = StepTrace::Action::Kind;
  Rank& state = ranks_[rank];
  running_ = rank;
  feel_upcoming(rank);
  do {
    const StepTrace::Actions& actions = actions_of(rank);
    while (state.next < actions.size()) {
      const Kind kind = actions[state.next].kind;
      const double from_s = clocks_[rank]->local();
      if (!act(rank, actions[state.next])) return;
      ++state.next;
      if (!in_time_order_) continue;
      const bool moved = clocks_[rank]->local() > from_s;
      if ((kind == Kind::wait || kind == Kind::wait_idly || kind == Kind::spend ||
           (moved && (kind == Kind::delay || kind == Kind::begin))) &&
          !catch_up(rank))
        return;
    }
  } while (!state.over && next_step(rank));
  ledger_of(rank).end_run(clocks_[rank]->local());
}

// As SimClock::settle. False: others come first, and then the rank comes back.
bool LockstepRun::catch_up(std::size_t rank) {
  const double now_s = clocks_[rank]->local();
  if (!due_.empty() && due_.front().time_s < now_s) {
    due_.put(static_cast<std::uint32_t>(rank), now_s);
    return false;
  }
  feel_upcoming(rank);
  return true;
}

// What begins at this instant is felt from the next time on.
void LockstepRun::feel_upcoming(std::size_t rank) {
  std::vector<Slowdown::Started>& upcoming = ranks_[rank].upcoming;
  for (; !upcoming.empty() && before(upcoming.front().at_s, clocks_[rank]->local());
       upcoming.erase(upcoming.begin()))
    clocks_[rank]->communicates(upcoming.front());
}

// False: there is nothing more to do.
bool LockstepRun::next_step(std::size_t rank) {
  Rank& state = ranks_[rank];
  if (state.step > 0) end_step(rank);
  state.next = 0;
  if (steps_.end.has_all(state.step)) {
    state.over = true;
    return !trace_.steps.after.empty();
  }
  ++state.step;
  if (!crashes_.empty()) crashes_[rank].step_began();
  state.begin_s = clocks_[rank]->local();
  if (hears(rank))
    world_.observers.tell(Topic::steps, &Observer::step_began, static_cast<int>(rank), state.step,
                          state.begin_s);
  else
    ledger_of(rank).begin_step(state.begin_s);
  return true;
}

void LockstepRun::end_step(std::size_t rank) {
  SimClock& clock = *clocks_[rank];
  const Rank& state = ranks_[rank];
  clock.finish_beside();
  if (!crashes_.empty()) {
    const FailureModel& failures = world_.job.failures;
    crashes_[rank].step_ended();
    if (state.step % failures.checkpoint_every == 0) {
      if (failures.checkpoint_s > 0) spend(rank, Activity::straggle, failures.checkpoint_s, "straggle");
      crashes_[rank].checkpoint();
    }
  }
  world_.transport.check_instant(clock.local());
  const StepEnd end{static_cast<int>(rank), state.step, state.begin_s, clock.local(), Tensor{}};
  if (hears(rank))
    world_.observers.tell(Topic::steps, &Observer::step_ended, end);
  else
    world_.ledgers.step_ended_by(as_many_as(rank), end);
  if (rank == 0 && steps_.progress) steps_.progress(state.step);
  steps_.end.completed(world_.job.workload.batch, clock.local());
}

// False: the rank waits, and comes back to it.
bool LockstepRun::act(std::size_t rank, const StepTrace::Action& action) {
  using Kind = StepTrace::Action::Kind;
  Rank& state = ranks_[rank];
  SimClock& clock = *clocks_[rank];
  switch (action.kind) {
    case Kind::begin:
      begin_gradient(rank);
      break;
    case Kind::delay:
      if (state.cost.delay_s > 0) spend(rank, Activity::straggle, state.cost.delay_s, "straggle");
      break;
    case Kind::used:
      if (hears(rank))
        world_.observers.tell(Topic::steps, &Observer::gradient_used, static_cast<int>(rank), state.step,
                              Tensor{}, 1.0 * world_.job.workload.batch);
      else
        ledger_of(rank).used_samples(world_.job.workload.batch);
      break;
    case Kind::compute:
      clock.compute(action.seconds * state.cost.scale, state.cost.straggle);
      break;
    case Kind::backward:
      begin_backward(rank);
      break;
    case Kind::compute_until:
      compute_until(rank, action.seconds);
      break;
    case Kind::backward_end:
      clock.compute_beside(state.beside_s, state.cost.straggle);
      break;
    case Kind::mark:
    case Kind::span:
      draw(rank, action);
      break;
    case Kind::spend:
      spend(rank, action.activity,
            action.seconds * (1 / world_.job.cluster.speed_of_rank(static_cast<int>(rank))), action.label);
      break;
    case Kind::start: {
      const std::uint64_t number = open(rank, prepared_[action.index]);
      const Seen seen = seen_by(rank, number);
      if (clock.is_slowed_by_communication()) clock.communicates(felt(seen, clock.local()));
      start(rank, number, seen, clock.local());
      break;
    }
    case Kind::start_after: {
      const std::uint64_t after = state.started - action.index2;
      state.following.push_back({after, open(rank, prepared_[action.index])});
      ++following_;
      if (seen_by(rank, after).part.known) start_following(rank, after);
      break;
    }
    case Kind::wait:
    case Kind::wait_idly:
      return wait(rank, action.index, action.kind == Kind::wait_idly);
  }
  return true;
}

// The mark after a backward pass is put where what goes on beside the next things ends.
void LockstepRun::draw(std::size_t rank, const StepTrace::Action& action) {
  std::vector<double>& marks_s = marks_s_[rank];
  if (action.kind == StepTrace::Action::Kind::mark)
    marks_s[action.index] = clocks_[rank]->now() + std::exchange(ranks_[rank].beside_s, 0.0);
  else
    world_.observers.tell(Topic::drawing, &Observer::span, static_cast<int>(rank), action.label,
                          marks_s[action.index], marks_s[action.index2]);
}

// Computing
// -----------------------------------------------------------------------------------------------------------

void LockstepRun::begin_gradient(std::size_t rank) {
  Rank& state = ranks_[rank];
  SimClock& clock = *clocks_[rank];
  clock.finish_beside();
  state.cost = step_cost(world_.job, {.rank = static_cast<int>(rank), .step = state.step}, step_s_);
  if (crashes_.empty()) return;
  Crashes& crashes = crashes_[rank];
  const double seconds = state.cost.delay_s + step_s_ * state.cost.scale * state.cost.straggle;
  for (const Crashes::Outage& outage : crashes.during(clock.now(), seconds))
    clock.outage(outage.ready_s, [&] { crashes.record(outage); });
  crashes.computed(seconds);
}

// What follows may begin before the pass ends.
void LockstepRun::begin_backward(std::size_t rank) {
  Rank& state = ranks_[rank];
  const double backward_s = world_.times.backward_s, slow = state.cost.scale * state.cost.straggle;
  state.beside_s = std::min(clocks_[rank]->backward_overlap_s(), backward_s * slow);
  state.stop_s = backward_s - state.beside_s / slow;
  state.done_s = 0;
}

void LockstepRun::compute_until(std::size_t rank, double until_s) {
  Rank& state = ranks_[rank];
  const double end_s = std::min(until_s, state.stop_s);
  clocks_[rank]->compute((end_s - state.done_s) * state.cost.scale, state.cost.straggle);
  state.done_s = end_s;
}

void LockstepRun::spend(std::size_t rank, Activity activity, double seconds, const char* label) {
  clocks_[rank]->finish_beside();
  if (!crashes_.empty() && occupies_device(activity)) crashes_[rank].computed(seconds);
  clocks_[rank]->spend(activity, seconds, label);
}

std::vector<Crashes::Totals> LockstepRun::crash_totals(double over_s) const {
  std::vector<Crashes::Totals> all;
  for (const Crashes& each : crashes_) all.push_back(each.totals(over_s));
  return all;
}

}  // namespace simsgd

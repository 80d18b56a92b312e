#include "sim/engine/lockstep_run.hpp"

#include <algorithm>
#include <numeric>

#include "sim/activities.hpp"
#include "sim/roles/lockstep.hpp"

namespace simsgd {

std::unique_ptr<LockstepRun> LockstepRun::make(World& world, LedgerBook& ledgers,
                                               const SimWorker::Steps& steps, std::size_t heard) {
  const Job& job = world.job;
  if (dynamic_cast<const LockstepAlgorithm*>(job.algorithm.get()) == nullptr || job.learner ||
      steps.end.in_time_order() || job.cluster.handover.blocking ||
      job.cluster.device.communication_share.value_or(1) < 1)
    return nullptr;
  std::optional<StepTrace> trace = trace_steps(world);
  if (!trace || (job.stop.steps < 2 && !trace->after.empty())) return nullptr;
  for (AnyCollective& operation : trace->operations) {
    if (world.negotiator.negotiates(operation)) return nullptr;
    world.negotiator.send_in_place(operation);
    if (!world.collectives.is_recurrence(operation)) return nullptr;
  }
  return std::unique_ptr<LockstepRun>(new LockstepRun(world, ledgers, steps, heard, std::move(*trace)));
}

LockstepRun::LockstepRun(World& world, LedgerBook& ledgers, const SimWorker::Steps& steps, std::size_t heard,
                         StepTrace trace)
    : world_(world),
      ledgers_(ledgers),
      steps_(steps),
      heard_(heard),
      trace_(std::move(trace)),
      step_s_(world.job.workload.micro_batches * (world.times.forward_s + world.times.backward_s)),
      clocks_(static_cast<std::size_t>(world.job.workers())),
      ranks_(clocks_.size()),
      marks_s_(heard, std::vector<double>(trace_.marks)) {
  only_ledgers_.attach(ledgers, {Topic::time, Topic::steps});
  for (const AnyCollective& operation : trace_.operations) {
    channels_.push_back(world.negotiator.ledger_channel(operation));
    predicted_s_.push_back(world.collectives.predict(0, operation));
  }
  for (std::size_t rank = 0; rank < clocks_.size(); ++rank) {
    const auto number = static_cast<int>(rank);
    clocks_[rank].emplace(number, world.job, world.fibers, world.transport, world.interference,
                          observers_of(rank));
    if (world.job.failures.any()) crashes_.emplace_back(world.job.failures, world.job.seed, number);
  }
}

void LockstepRun::run() {
  for (int rank = 0; rank < std::max(1, static_cast<int>(heard_)); ++rank) {
    for (const RecordTable& table : trace_.tables)
      world_.observers.tell(Topic::said, &Observer::table, rank, table);
    for (const auto& [name, value] : trace_.numbers)
      world_.observers.tell(Topic::said, &Observer::number, rank, name, value);
  }
  ready_.resize(clocks_.size());
  std::iota(ready_.begin(), ready_.end(), std::size_t{0});
  while (!ready_.empty()) {
    turn_.swap(ready_);
    for (const std::size_t rank : turn_) go_on(rank);
    turn_.clear();
  }
  for (std::size_t rank = 0; rank < clocks_.size(); ++rank) tell_ledger(rank, ranks_[rank].started);
}

const StepTrace::Actions& LockstepRun::actions_of(const Rank& state) const {
  static const StepTrace::Actions kNone;
  if (state.over) return trace_.after;
  return state.step == 0 ? kNone : state.step == 1 ? trace_.first : trace_.others;
}

void LockstepRun::go_on(std::size_t rank) {
  Rank& state = ranks_[rank];
  do {
    const StepTrace::Actions& actions = actions_of(state);
    for (; state.next < actions.size(); ++state.next)
      if (!act(rank, actions[state.next])) return;
  } while (!state.over && next_step(rank));
}

// False: there is nothing more to do.
bool LockstepRun::next_step(std::size_t rank) {
  Rank& state = ranks_[rank];
  const auto number = static_cast<int>(rank);
  if (state.step > 0) end_step(rank);
  state.next = 0;
  if (steps_.end.has_all(state.step)) {
    state.over = true;
    return !trace_.after.empty();
  }
  ++state.step;
  if (!crashes_.empty()) crashes_[rank].step_began();
  state.begin_s = clocks_[rank]->local();
  observers_of(rank).tell(Topic::steps, &Observer::step_began, number, state.step, state.begin_s);
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
  observers_of(rank).tell(
      Topic::steps, &Observer::step_ended,
      StepEnd{static_cast<int>(rank), state.step, state.begin_s, clock.local(), Tensor{}});
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
      observers_of(rank).tell(Topic::steps, &Observer::gradient_used, static_cast<int>(rank), state.step,
                              Tensor{}, 1.0 * world_.job.workload.batch);
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
      if (hears(rank)) draw(rank, action);
      break;
    case Kind::spend:
      spend(rank, action.activity,
            action.seconds * (1 / world_.job.cluster.speed_of_rank(static_cast<int>(rank))), action.label);
      break;
    case Kind::start:
      start(rank, action.index);
      break;
    case Kind::wait:
      return wait(rank, action.index);
  }
  return true;
}

// The mark after a backward pass is put where what goes on beside the next things ends.
void LockstepRun::draw(std::size_t rank, const StepTrace::Action& action) {
  std::vector<double>& marks_s = marks_s_[rank];
  if (action.kind == StepTrace::Action::Kind::mark)
    marks_s[action.index] = clocks_[rank]->now() + std::exchange(ranks_[rank].beside_s, 0.0);
  else
    observers_of(rank).tell(Topic::drawing, &Observer::span, static_cast<int>(rank), action.label,
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

// Operations
// -----------------------------------------------------------------------------------------------------------

void LockstepRun::start(std::size_t rank, std::size_t what) {
  SimClock& clock = *clocks_[rank];
  if (clock.is_slowed_by_communication())
    clock.communicates(channels_[what], 0, predicted_s_[what], options_of(trace_.operations[what]).traffic);
  const std::uint64_t number = ranks_[rank].started++;
  if (number - first_ == operations_.size()) {
    if (unused_.empty()) {
      unused_.push_back(std::make_unique<Operation>());
      unused_.back()->whole.posted_s.resize(clocks_.size());
    }
    operations_.push_back(std::move(unused_.back()));
    unused_.pop_back();
    Operation& fresh = *operations_.back();
    fresh.what = what;
    fresh.posted = 0;
    fresh.known = false;
  }
  Operation& started = operation(number);
  started.whole.posted_s[rank] = clock.now();
  if (++started.posted == clocks_.size()) all_started(started, number);
}

void LockstepRun::all_started(Operation& operation, std::uint64_t number) {
  world_.collectives.run_whole(trace_.operations[operation.what], heard_, operation.whole);
  operation.known = true;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].awaits == number + 1) {
      ranks_[rank].awaits = 0;
      ready_.push_back(rank);
    }
  forget_operations();
}

// Those that no ledger is to be told of, and that no rank waits for any more.
void LockstepRun::forget_operations() {
  std::uint64_t needed = first_ + operations_.size();
  for (const Rank& each : ranks_)
    needed = std::min(
        {needed, each.told, each.started > trace_.longest_wait ? each.started - trace_.longest_wait : 0});
  for (; first_ < needed; ++first_) {
    unused_.push_back(std::move(operations_.front()));
    operations_.pop_front();
  }
}

bool LockstepRun::wait(std::size_t rank, std::size_t ago) {
  Rank& state = ranks_[rank];
  const std::uint64_t number = state.started - ago;
  const Operation& awaited = operation(number);
  if (!awaited.known) {
    state.awaits = number + 1;
    return false;
  }
  tell_ledger(rank, number + 1);
  if (!hears(rank) && awaited.whole.ends_s[rank] <= clocks_[rank]->local()) return true;
  awaited_.pending()->channel = channels_[awaited.what];
  awaited_.pending()->end_s = awaited.whole.ends_s[rank];
  clocks_[rank]->wait(awaited_);
  return true;
}

// Of the operations below that number. All have started those of ranks that waited for a later one.
void LockstepRun::tell_ledger(std::size_t rank, std::uint64_t until) {
  std::uint64_t& told = ranks_[rank].told;
  if (hears(rank)) told = std::max(told, until);
  Ledger& ledger = ledgers_.of(static_cast<int>(rank));
  for (; told < until; ++told) {
    const Operation& each = operation(told);
    const Traffic traffic = options_of(trace_.operations[each.what]).traffic;
    ledger.operation(channels_[each.what], each.whole.span(rank, traffic));
    ledger.sent(traffic, each.whole.plan->bytes_sent()[rank]);
  }
}

std::vector<Crashes::Totals> LockstepRun::crash_totals(double over_s) const {
  std::vector<Crashes::Totals> all;
  for (const Crashes& each : crashes_) all.push_back(each.totals(over_s));
  return all;
}

}  // namespace simsgd

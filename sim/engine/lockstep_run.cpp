#include "sim/engine/lockstep_run.hpp"

#include <algorithm>
#include <numeric>

#include "sim/activities.hpp"

namespace simsgd {

namespace {

std::vector<AnyCollective> sums_of(const World& world) {
  std::vector<AnyCollective> sums;
  for (const AllReduce& sum : lockstep_of(*world.job.algorithm)->sums)
    world.negotiator.send_in_place(sums.emplace_back(sum));
  return sums;
}

}  // namespace

bool LockstepRun::can(World& world, const RunEnd& end) {
  const Job& job = world.job;
  const Lockstep* lockstep = lockstep_of(*job.algorithm);
  if (!lockstep || job.learner || end.in_time_order() || job.cluster.handover.blocking ||
      job.cluster.device.communication_share.value_or(1) < 1)
    return false;
  const std::vector<AnyCollective> sums = sums_of(world);
  return !sums.empty() && std::all_of(sums.begin(), sums.end(), [&world](const AnyCollective& sum) {
    return !world.negotiator.negotiates(sum) && world.collectives.is_recurrence(sum);
  });
}

LockstepRun::LockstepRun(World& world, LedgerBook& ledgers, const SimWorker::Steps& steps, std::size_t heard)
    : world_(world),
      ledgers_(ledgers),
      steps_(steps),
      heard_(heard),
      what_(*lockstep_of(*world.job.algorithm)),
      sums_(sums_of(world)),
      step_s_(world.job.workload.micro_batches * (world.times.forward_s + world.times.backward_s)),
      update_s_(update_s(world.job.cluster.device, world.job.optimizer, world.job.workload.parameters())),
      clocks_(static_cast<std::size_t>(world.job.workers())),
      step_begin_s_(clocks_.size()),
      order_(clocks_.size()) {
  only_ledgers_.attach(ledgers, {Topic::time, Topic::steps});
  channel_ = last_sum_.pending()->channel = world.negotiator.ledger_channel(sums_.back());
  for (const AnyCollective& sum : sums_) predicted_s_.push_back(world.collectives.predict(0, sum));
  wholes_.resize(sums_.size());
  for (CollectiveEngine::Whole& whole : wholes_) whole.posted_s.resize(clocks_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  for (const std::size_t rank : order_) {
    const auto number = static_cast<int>(rank);
    clocks_[rank].emplace(number, world.job, world.fibers, world.transport, world.interference,
                          observers_of(rank));
    if (world.job.failures.any()) crashes_.emplace_back(world.job.failures, world.job.seed, number);
  }
}

void LockstepRun::run() {
  for (bool more = true; more; ++step_) {
    more = !steps_.end.has_all(step_);
    for (const std::size_t rank : order_) {
      if (step_ > 0) end_step(rank);
      if (more) compute_step(rank);
    }
    if (more) order_next_step();
  }
}

void LockstepRun::order_next_step() {
  const std::size_t last = order_.back();
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(last),
              order_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
}

void LockstepRun::spend(std::size_t rank, Activity activity, double seconds, const char* label) {
  clocks_[rank]->finish_beside();
  if (!crashes_.empty() && occupies_device(activity)) crashes_[rank].computed(seconds);
  clocks_[rank]->spend(activity, seconds, label);
}

// The all-reduces of the step, which are through when the last is.
void LockstepRun::tell_late(std::size_t rank) {
  Ledger& ledger = ledgers_.of(static_cast<int>(rank));
  for (std::size_t part = 0; part < sums_.size(); ++part) {
    const CollectiveEngine::Whole& whole = wholes_[part];
    const Traffic traffic = options_of(sums_[part]).traffic;
    ledger.operation(channel_, whole.span(rank, traffic));
    ledger.sent(traffic, whole.plan->bytes_sent()[rank]);
  }
}

void LockstepRun::end_step(std::size_t rank) {
  SimClock& clock = *clocks_[rank];
  if (!hears(rank)) tell_late(rank);
  last_sum_.pending()->end_s = wholes_.back().ends_s[rank];
  clock.wait(last_sum_);
  const auto number = static_cast<int>(rank);
  if (update_s_ > 0)
    spend(rank, Activity::compute, update_s_ * (1 / world_.job.cluster.speed_of_rank(number)), "optimizer");
  clock.finish_beside();
  if (!crashes_.empty()) {
    const FailureModel& failures = world_.job.failures;
    crashes_[rank].step_ended();
    if (step_ % failures.checkpoint_every == 0) {
      if (failures.checkpoint_s > 0) spend(rank, Activity::straggle, failures.checkpoint_s, "straggle");
      crashes_[rank].checkpoint();
    }
  }
  world_.transport.check_instant(clock.local());
  observers_of(rank).tell(Topic::steps, &Observer::step_ended,
                          StepEnd{number, step_, step_begin_s_[rank], clock.local(), Tensor{}});
  if (rank == 0 && steps_.progress) steps_.progress(step_);
  steps_.end.completed(world_.job.workload.batch, clock.local());
}

void LockstepRun::live_through(std::size_t rank, const StepCost& cost) {
  Crashes& crashes = crashes_[rank];
  const double seconds = cost.delay_s + step_s_ * cost.scale * cost.straggle;
  for (const Crashes::Outage& outage : crashes.during(clocks_[rank]->now(), seconds))
    clocks_[rank]->outage(outage.ready_s, [&] { crashes.record(outage); });
  crashes.computed(seconds);
}

// Begins the step and computes its gradient, as Compute does.
void LockstepRun::compute_step(std::size_t rank) {
  const Job& job = world_.job;
  SimClock& clock = *clocks_[rank];
  const Observers& observers = observers_of(rank);
  const auto number = static_cast<int>(rank);
  const std::uint64_t step = step_ + 1;
  if (!crashes_.empty()) crashes_[rank].step_began();
  step_begin_s_[rank] = clock.local();
  observers.tell(Topic::steps, &Observer::step_began, number, step, step_begin_s_[rank]);
  const StepCost cost = step_cost(job, {.rank = number, .step = step}, step_s_);
  if (!crashes_.empty()) live_through(rank, cost);
  observers.tell(Topic::steps, &Observer::gradient_used, number, step, Tensor{}, 1.0 * job.workload.batch);
  if (cost.delay_s > 0) spend(rank, Activity::straggle, cost.delay_s, "straggle");
  const double from_s = clock.now();
  clock.compute(
      (job.workload.micro_batches - 1) * (world_.times.forward_s + world_.times.backward_s) * cost.scale,
      cost.straggle);
  const double forward_s = clock.now();
  observers.tell(Topic::drawing, &Observer::span, number, "micro-batches", from_s, forward_s);
  clock.compute(world_.times.forward_s * cost.scale, cost.straggle);
  observers.tell(Topic::drawing, &Observer::span, number, "forward", forward_s, clock.now());
  backward(rank, cost);
}

// Each sum is posted when its gradient is there, and what follows may begin before the pass ends.
void LockstepRun::backward(std::size_t rank, const StepCost& cost) {
  SimClock& clock = *clocks_[rank];
  const PassTimes& times = world_.times;
  const double from_s = clock.now(), slow = cost.scale * cost.straggle;
  const double beside_s = std::min(clock.backward_overlap_s(), times.backward_s * slow);
  const double stop_s = times.backward_s - beside_s / slow;
  double done_s = 0;
  const auto compute_to = [&](double until_s) {
    clock.compute((std::min(until_s, stop_s) - done_s) * cost.scale, cost.straggle);
    done_s = std::min(until_s, stop_s);
  };
  for (std::size_t part = 0; part < sums_.size(); ++part) {
    compute_to(times.tensor_ready_s[what_.ready_at[part]]);
    post(part, rank);
  }
  compute_to(stop_s);
  clock.compute_beside(beside_s, cost.straggle);
  observers_of(rank).tell(Topic::drawing, &Observer::span, static_cast<int>(rank), "backward", from_s,
                          clock.now() + beside_s);
}

void LockstepRun::post(std::size_t part, std::size_t rank) {
  SimClock& clock = *clocks_[rank];
  if (clock.is_slowed_by_communication())
    clock.communicates(channel_, 0, predicted_s_[part], options_of(sums_[part]).traffic);
  wholes_[part].posted_s[rank] = clock.now();
  if (rank == order_.back()) world_.collectives.run_whole(sums_[part], heard_, wholes_[part]);
}

std::vector<Crashes::Totals> LockstepRun::crash_totals(double over_s) const {
  std::vector<Crashes::Totals> all;
  for (const Crashes& each : crashes_) all.push_back(each.totals(over_s));
  return all;
}

}  // namespace simsgd

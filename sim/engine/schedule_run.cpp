#include "sim/engine/schedule_run.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/concurrent.hpp"

namespace simsgd {

ScheduleRun::ScheduleRun(Setup setup)
    : setup_(std::move(setup)), states_(static_cast<std::size_t>(setup_.plan->ranks())) {
  make_phases();
}

void ScheduleRun::make_phases() {
  const Plan& plan = *setup_.plan;
  std::uint32_t step = 0;
  for (std::size_t s = 0; s < plan.stages(); ++s) {
    const Stage& stage = plan.schedule().stages[s];
    const bool aggregated = setup_.aggregate && stage.repeat > 1 && plan.stage(s).permutation;
    const double reduce_s = plan.stage(s).reduce_s;
    if (!aggregated) {
      for (int i = 0; i < stage.repeat; ++i) phases_.push_back({s, false, stage.bytes, 1, reduce_s, step++});
      continue;
    }
    step += static_cast<std::uint32_t>(stage.repeat);
    const bool continues = !phases_.empty() && phases_.back().aggregated &&
                           plan.schedule().stages[phases_.back().stage].to == stage.to;
    if (!continues) phases_.push_back({s, true, 0, 0, 0, step});
    phases_.back().bytes += stage.bytes * stage.repeat;
    phases_.back().repeats += stage.repeat;
    phases_.back().reduce_s += reduce_s * stage.repeat;
  }
  if (!setup_.aggregate) return;
  cycle_of_.resize(plan.stages());
  cycle_waiting_.resize(phases_.size());
  cycle_open_.resize(phases_.size());
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    if (!phases_[p].aggregated) continue;
    const StageCosts& costs = plan.stage(phases_[p].stage);
    std::vector<std::int32_t>& cycle = cycle_of_[phases_[p].stage];
    cycle.resize(states_.size());
    for (std::size_t c = 0; c + 1 < costs.cycle_begin.size(); ++c) {
      for (std::int32_t k = costs.cycle_begin[c]; k < costs.cycle_begin[c + 1]; ++k)
        cycle[static_cast<std::size_t>(costs.order[static_cast<std::size_t>(k)])] =
            static_cast<std::int32_t>(c);
      cycle_waiting_[p].push_back(costs.cycle_begin[c + 1] - costs.cycle_begin[c]);
    }
    cycle_open_[p] = cycle_waiting_[p];
  }
}

// In a phase of several stages these have the same partners and the same bytes.
double ScheduleRun::flowing_bytes(const Phase& phase, std::size_t sender) const {
  const StageCosts& costs = setup_.plan->stage(phase.stage);
  return costs.wire_bytes.empty() ? phase.bytes : phase.bytes * costs.wire(sender) / costs.stage->bytes;
}

const ScheduleRun::Phase& ScheduleRun::phase_of(std::int32_t rank) const {
  return phases_[static_cast<std::size_t>(states_[static_cast<std::size_t>(rank)].phase)];
}

// What is scheduled for a rank names the rank alone, so that it needs no memory of its own.
void ScheduleRun::arrives_at(std::int32_t rank, double came_s) {
  states_[static_cast<std::size_t>(rank)].came_s = came_s;
  same_ = same_ && (came_++ == 0 || came_s == first_came_s_);
  first_came_s_ = came_s;
  setup_.transport->at(came_s, [this, rank] { arrive(rank); });
}

void ScheduleRun::all_arrive_at(double came_s) {
  for (State& state : states_) state.came_s = came_s;
  came_ = setup_.plan->ranks();
  setup_.transport->at(came_s, [this] {
    for (std::int32_t rank = 0; rank < setup_.plan->ranks(); ++rank) arrive(rank);
  });
}

void ScheduleRun::arrive(std::int32_t rank) {
  State& state = states_[static_cast<std::size_t>(rank)];
  state.phase = 0;
  state.last_arrival_s = state.next_last_arrival_s = state.came_s;
  const double host_s = setup_.plan->host_before_s();
  if (host_s > 0)
    setup_.transport->at(setup_.transport->now() + host_s, [this, rank] { begin(rank); });
  else
    begin(rank);
}

// Ranks that all come at one instant begin with the last of them.
void ScheduleRun::begin(std::int32_t rank) {
  if (setup_.plan->schedule().concurrent) return post(rank);
  if (began_ || !same_ || came_ < setup_.plan->ranks()) {
    began_ = true;
    return enter(rank);
  }
  const std::int32_t ranks = setup_.plan->ranks();
  if (++ready_ < ranks || pass_at_once()) return;
  for (std::int32_t each = 0; each < ranks; ++each) enter(each);
}

// Where all ranks begin each stage together and end it together, and nothing else happens meanwhile, one of
// its messages tells the times of all. False: they are to be simulated.
bool ScheduleRun::pass_at_once() {
  Transport& transport = *setup_.transport;
  const auto ranks = static_cast<std::uint64_t>(setup_.plan->ranks());
  if (setup_.jitter.table || phases_.empty()) return false;
  double end_s = transport.now();
  std::uint64_t events = 0;
  for (const Phase& phase : phases_) {
    const StageCosts& costs = setup_.plan->stage(phase.stage);
    if (phase.aggregated || costs.even_share_Bps == 0 || phase.bytes > kLargestFlow_bytes) return false;
    const double flowing = Transport::whole_units(std::max(0.0, phase.bytes));
    end_s += costs.alpha_s.front();
    end_s += flowing / costs.even_share_Bps;
    end_s += phase.reduce_s;
    events += ranks * ((phase.bytes > 0 ? 2U : 1U) + (phase.reduce_s > 0 ? 1U : 0U));
  }
  if (!transport.is_quiet_until(end_s)) return false;
  transport.have_passed(events - 1, setup_.plan->link_bytes());
  transport.at(end_s, [this, all = setup_.plan->ranks()] {  // this run may be over with the last
    for (std::int32_t rank = 0; rank < all; ++rank) finish(rank);
  });
  return true;
}

// Of a concurrent schedule: the rank is ready for all its messages.
void ScheduleRun::post(std::int32_t rank) {
  const auto i = static_cast<std::size_t>(rank);
  states_[i].posted = true;
  states_[i].open = messages_of(setup_.plan->schedule(), rank);
  if (states_[i].open == 0) return finish(rank);
  for (const Phase& phase : phases_) {
    const Stage& stage = setup_.plan->schedule().stages[phase.stage];
    const std::int32_t to = stage.to[i], from = stage.from[i];
    if (to >= 0 && states_[static_cast<std::size_t>(to)].posted) start_message(phase, rank, to);
    if (from >= 0 && states_[static_cast<std::size_t>(from)].posted) start_message(phase, from, rank);
  }
}

// The rank is ready for its phase: starts the messages whose other side is ready too.
void ScheduleRun::enter(std::int32_t rank) {
  State& state = states_[static_cast<std::size_t>(rank)];
  while (state.phase < static_cast<std::int32_t>(phases_.size())) {
    const Stage& stage = setup_.plan->schedule().stages[phase_of(rank).stage];
    const std::int32_t to = stage.to[static_cast<std::size_t>(rank)];
    const std::int32_t from = stage.from[static_cast<std::size_t>(rank)];
    if (to < 0 && from < 0) {
      ++state.phase;
      continue;
    }
    state.posted = true;
    if (phase_of(rank).aggregated) {
      start_cycle_if_complete(rank);
    } else {
      state.open = (to >= 0 ? 1 : 0) + (from >= 0 ? 1 : 0);
      if (to >= 0) try_start(rank, to);
      if (from >= 0) try_start(from, rank);
    }
    return;
  }
  finish(rank);
}

void ScheduleRun::finish(std::int32_t rank) {
  const double host_s = setup_.plan->host_after_s();
  double& end_s = states_[static_cast<std::size_t>(rank)].end_s;
  end_s = setup_.transport->now() + host_s;
  if (host_s > 0)
    setup_.transport->at(end_s, [this, rank] { leave(rank); });
  else
    leave(rank);
}

void ScheduleRun::leave(std::int32_t rank) {
  const State& state = states_[static_cast<std::size_t>(rank)];
  setup_.ended(rank, state.end_s, state.next_last_arrival_s);
}

void ScheduleRun::try_start(std::int32_t sender, std::int32_t receiver) {
  const State& from = states_[static_cast<std::size_t>(sender)];
  const State& to = states_[static_cast<std::size_t>(receiver)];
  if (from.phase == to.phase && from.posted && to.posted) start_message(phase_of(sender), sender, receiver);
}

void ScheduleRun::depends(std::int32_t rank, double last_arrival_s) {
  double& last_s = states_[static_cast<std::size_t>(rank)].next_last_arrival_s;
  last_s = std::max(last_s, last_arrival_s);
}

void ScheduleRun::start_message(const Phase& phase, std::int32_t sender, std::int32_t receiver) {
  const State& from = states_[static_cast<std::size_t>(sender)];
  const State& to = states_[static_cast<std::size_t>(receiver)];
  const double last_arrival_s = setup_.plan->schedule().concurrent
                                    ? std::max(from.came_s, to.came_s)
                                    : std::max(from.last_arrival_s, to.last_arrival_s);
  depends(sender, last_arrival_s);
  depends(receiver, last_arrival_s);
  const StageCosts& costs = setup_.plan->stage(phase.stage);
  double delay = costs.alpha_s[static_cast<std::size_t>(sender)];
  if (setup_.jitter.table)
    delay += setup_.jitter.at(phase.step, static_cast<std::uint32_t>(sender)) *
             costs.jitter_factor(static_cast<std::size_t>(sender));
  const std::vector<int>& ranks = *setup_.ranks;
  setup_.transport->message(
      ranks[static_cast<std::size_t>(sender)], ranks[static_cast<std::size_t>(receiver)],
      flowing_bytes(phase, static_cast<std::size_t>(sender)), delay, [this, sender, receiver] {
        message_ended(sender);
        message_ended(receiver);
      });
}

void ScheduleRun::message_ended(std::int32_t rank) {
  if (--states_[static_cast<std::size_t>(rank)].open > 0) return;
  if (!setup_.plan->schedule().concurrent) return leave_phase(rank);
  double reduce_s = 0;
  for (const Phase& phase : phases_)
    if (setup_.plan->schedule().stages[phase.stage].from[static_cast<std::size_t>(rank)] >= 0)
      reduce_s += phase.reduce_s;
  if (reduce_s > 0)
    setup_.transport->at(setup_.transport->now() + reduce_s, [this, rank] { finish(rank); });
  else
    finish(rank);
}

void ScheduleRun::leave_phase(std::int32_t rank) {
  State& state = states_[static_cast<std::size_t>(rank)];
  const Phase& phase = phase_of(rank);
  const bool received = setup_.plan->schedule().stages[phase.stage].from[static_cast<std::size_t>(rank)] >= 0;
  const double reduce_s = received ? phase.reduce_s : 0;
  state.posted = false;
  state.last_arrival_s = state.next_last_arrival_s;
  ++state.phase;
  if (reduce_s > 0)
    setup_.transport->at(setup_.transport->now() + reduce_s, [this, rank] { enter(rank); });
  else
    enter(rank);
}

void ScheduleRun::start_cycle_if_complete(std::int32_t rank) {
  const auto p = static_cast<std::size_t>(states_[static_cast<std::size_t>(rank)].phase);
  const Phase& phase = phases_[p];
  const StageCosts& costs = setup_.plan->stage(phase.stage);
  const auto cycle = static_cast<std::size_t>(cycle_of_[phase.stage][static_cast<std::size_t>(rank)]);
  if (--cycle_waiting_[p][cycle] > 0) return;
  const std::vector<int>& ranks = *setup_.ranks;
  const std::vector<std::int32_t>& to = setup_.plan->schedule().stages[phase.stage].to;
  double last_arrival_s = 0;
  for (std::int32_t k = costs.cycle_begin[cycle]; k < costs.cycle_begin[cycle + 1]; ++k) {
    const auto member = static_cast<std::size_t>(costs.order[static_cast<std::size_t>(k)]);
    last_arrival_s = std::max(last_arrival_s, states_[member].last_arrival_s);
  }
  for (std::int32_t k = costs.cycle_begin[cycle]; k < costs.cycle_begin[cycle + 1]; ++k) {
    const auto sender = static_cast<std::size_t>(costs.order[static_cast<std::size_t>(k)]);
    depends(static_cast<std::int32_t>(sender), last_arrival_s);
    // The first latency before the flow, the others after it, so that contention is met when bytes would
    // flow.
    const double rest_s = (phase.repeats - 1) * costs.latency_s(sender);
    setup_.transport->message(ranks[sender], ranks[static_cast<std::size_t>(to[sender])],
                              flowing_bytes(phase, sender), costs.alpha_s[sender], [this, p, cycle, rest_s] {
                                setup_.transport->at(setup_.transport->now() + rest_s, [this, p, cycle] {
                                  if (--cycle_open_[p][cycle] > 0) return;
                                  const StageCosts& done = setup_.plan->stage(phases_[p].stage);
                                  for (std::int32_t m = done.cycle_begin[cycle];
                                       m < done.cycle_begin[cycle + 1]; ++m)
                                    leave_phase(done.order[static_cast<std::size_t>(m)]);
                                });
                              });
  }
}

}  // namespace simsgd

#include "sim/collectives/early_leave.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/collectives/concurrent.hpp"

namespace simsgd {

EarlyLeave::EarlyLeave(const Plan& plan, const JitterDraws* jitter, bool closed)
    : plan_(plan), jitter_(jitter), closed_(closed), states_(static_cast<std::size_t>(plan.ranks())) {
  for (const Stage& stage : plan.schedule().stages)
    CHECK(stage.repeat == 1, "a schedule with early leavers repeats no stage");
  if (!plan.schedule().concurrent) return;
  for (std::int32_t rank = 0; rank < plan.ranks(); ++rank)
    states_[static_cast<std::size_t>(rank)].open = 1 + messages_of(plan.schedule(), rank);
}

// Tells each partner, once for each message, and then itself.
void EarlyLeave::arrive_concurrently(std::int32_t rank, std::vector<End>& ends) {
  const auto i = static_cast<std::size_t>(rank);
  for (const Stage& stage : plan_.schedule().stages) {
    if (stage.to[i] >= 0) end_if_complete(stage.to[i], ends);
    if (stage.from[i] >= 0) end_if_complete(stage.from[i], ends);
  }
  end_if_complete(rank, ends);
}

void EarlyLeave::end_if_complete(std::int32_t rank, std::vector<End>& ends) {
  const auto i = static_cast<std::size_t>(rank);
  if (--states_[i].open > 0) return;
  double last_arrival = states_[i].last_arrival_s;
  for (const Stage& stage : plan_.schedule().stages)
    for (const std::int32_t partner : {stage.to[i], stage.from[i]})
      if (partner >= 0)
        last_arrival = std::max(last_arrival, states_[static_cast<std::size_t>(partner)].last_arrival_s);
  const double end = closed_
                         ? last_arrival + plan_.dedicated_ends_s()[i]
                         : plan_.host_after_s() +
                               concurrent_end(plan_.stage_costs(), jitter_, rank, [this](std::int32_t other) {
                                 return states_[static_cast<std::size_t>(other)].time_s;
                               });
  ends.push_back({rank, end, last_arrival});
}

// The rank is ready for its stage: counts the stage's messages, passing through stages without any.
void EarlyLeave::enter(std::int32_t rank, std::vector<End>& ends) {
  State& state = states_[static_cast<std::size_t>(rank)];
  const std::vector<Stage>& stages = plan_.schedule().stages;
  const auto i = static_cast<std::size_t>(rank);
  for (; state.stage < static_cast<std::int32_t>(stages.size()); ++state.stage) {
    const Stage& stage = stages[static_cast<std::size_t>(state.stage)];
    state.open = (stage.to[i] >= 0 ? 1 : 0) + (stage.from[i] >= 0 ? 1 : 0);
    if (state.open == 0) continue;
    state.end_s = state.time_s;
    if (stage.to[i] >= 0) try_message(rank, stage.to[i]);
    if (stage.from[i] >= 0) try_message(stage.from[i], rank);
    return;
  }
  const double end =
      closed_ ? state.last_arrival_s + plan_.dedicated_ends_s()[i] : state.time_s + plan_.host_after_s();
  ends.push_back({rank, end, state.last_arrival_s});
}

void EarlyLeave::try_message(std::int32_t sender, std::int32_t receiver) {
  State& from = states_[static_cast<std::size_t>(sender)];
  State& to = states_[static_cast<std::size_t>(receiver)];
  if (from.open == 0 || to.open == 0 || from.stage != to.stage) return;
  const auto step = static_cast<std::uint32_t>(from.stage);
  double end =
      std::max(from.time_s, to.time_s) + plan_.stage(step).message_s(static_cast<std::size_t>(sender));
  if (jitter_)
    end += jitter_->at(step, static_cast<std::uint32_t>(sender)) *
           plan_.stage(step).jitter_factor(static_cast<std::size_t>(sender));
  const double last_arrival = std::max(from.last_arrival_s, to.last_arrival_s);
  for (State* state : {&from, &to}) {
    state->end_s = std::max(state->end_s, end);
    state->next_last_arrival_s = std::max(state->next_last_arrival_s, last_arrival);
  }
  if (--from.open == 0) leave_stage(sender);
  if (--to.open == 0) leave_stage(receiver);
}

void EarlyLeave::leave_stage(std::int32_t rank) {
  const auto i = static_cast<std::size_t>(rank);
  State& state = states_[i];
  const auto step = static_cast<std::size_t>(state.stage);
  state.time_s = state.end_s;
  if (plan_.schedule().stages[step].from[i] >= 0) state.time_s += plan_.stage(step).reduce_s;
  state.last_arrival_s = state.next_last_arrival_s;
  ++state.stage;
  active_.push_back(rank);
}

void EarlyLeave::arrive(std::int32_t rank, double time_s, std::vector<End>& ends) {
  State& state = states_[static_cast<std::size_t>(rank)];
  CHECK(!state.arrived, "a rank arrived twice at one operation");
  state.arrived = true;
  state.time_s = time_s + plan_.host_before_s();
  state.last_arrival_s = state.next_last_arrival_s = time_s;
  if (plan_.schedule().concurrent) return arrive_concurrently(rank, ends);
  active_.push_back(rank);
  while (!active_.empty()) {
    const std::int32_t next = active_.back();
    active_.pop_back();
    enter(next, ends);
  }
}

}  // namespace simsgd

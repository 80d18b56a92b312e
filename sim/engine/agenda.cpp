#include "sim/engine/agenda.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/instants.hpp"

namespace simsgd {

void Agenda::put(double time_s, Turn turn, Action action, double now_s) {
  if (turn.kind == Turn::Kind::after) ++after_;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  held_[place] = {as_number(turn), std::move(action), put_++, kNoPlace};
  if (time_s <= std::max(instant_s_, now_s)) return falls_due(time_s, place);
  ++waiting_;
  if (time_s == chain_s_)
    held_[chain_end_].next = place;
  else
    first_.put(place, time_s);
  chain_s_ = time_s;
  chain_end_ = place;
}

// Its kind, then its ranks, of which -1 comes first.
std::uint64_t Agenda::as_number(const Turn& turn) {
  const auto bits = [](std::int32_t rank) { return static_cast<std::uint64_t>(std::int64_t{rank} + 1); };
  return static_cast<std::uint64_t>(turn.kind) << 62U | bits(turn.to) << 31U | bits(turn.from);
}

void Agenda::falls_due(double time_s, std::uint32_t place) {
  const Held& held = held_[place];
  in_order_ = in_order_ && (due_.empty() || due_.back().turn < held.turn ||
                            (due_.back().turn == held.turn && due_.back().number < held.number));
  due_.push_back({held.turn, held.number, time_s, place});
  due_s_ = std::min(due_s_, time_s);
}

double Agenda::next_s() const { return first_.empty() ? due_s_ : std::min(due_s_, first_.front().time_s); }

void Agenda::take(double now_s, Turn::Kind latest, Batch& batch) {
  batch.kind = Turn::Kind::signal;
  batch.actions.clear();
  instant_s_ = now_s;
  while (!first_.empty() && not_after(first_.front().time_s, now_s)) {
    const Earliest::Entry chain = first_.front();
    first_.take_front();
    for (std::uint32_t place = chain.number; place != kNoPlace; place = held_[place].next, --waiting_)
      falls_due(chain.time_s, place);
    if (chain.time_s == chain_s_) chain_s_ = -1;
  }
  if (!in_order_)
    std::sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) {
      return a.turn != b.turn ? a.turn < b.turn : a.number < b.number;
    });
  in_order_ = true;
  left_ = !due_.empty();
  const auto kind_of = [](const Due& due) { return static_cast<Turn::Kind>(due.turn >> 62U); };
  if (due_.empty() || kind_of(due_.front()) > latest) return;
  batch.kind = kind_of(due_.front());
  auto end = due_.begin();
  for (; end != due_.end() && kind_of(*end) == batch.kind; ++end) {
    batch.actions.push_back(std::move(held_[end->place].action));
    free_.push_back(end->place);
  }
  due_.erase(due_.begin(), end);
  due_s_ = kNever;
  for (const Due& entry : due_) due_s_ = std::min(due_s_, entry.time_s);
  left_ = !due_.empty();
  if (batch.kind == Turn::Kind::after) after_ -= batch.actions.size();
}

}  // namespace simsgd

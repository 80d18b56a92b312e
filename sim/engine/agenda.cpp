#include "sim/engine/agenda.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/instants.hpp"

namespace simsgd {

void Agenda::put(double time_s, Turn turn, Action action) {
  if (turn.kind == Turn::Kind::after) ++after_;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  held_[place] = {turn, std::move(action), put_++, kNoPlace};
  if (time_s <= instant_s_) {
    due_.push_back({turn, held_[place].number, time_s, place});
    in_order_ = false;
    due_s_ = std::min(due_s_, time_s);
    return;
  }
  ++in_heap_;
  if (time_s == chain_s_) {
    held_[chain_end_].next = place;
  } else {
    heap_.push_back({time_s, place});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  chain_s_ = time_s;
  chain_end_ = place;
}

double Agenda::next_s() const { return heap_.empty() ? due_s_ : std::min(due_s_, heap_.front().time_s); }

Agenda::Batch Agenda::take(double now_s, Turn::Kind latest) { return take(now_s, latest, Batch()); }

Agenda::Batch Agenda::take(double now_s, Turn::Kind latest, Batch used) {
  used.actions.clear();
  instant_s_ = now_s;
  while (!heap_.empty() && not_after(heap_.front().time_s, now_s)) {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Entry top = heap_.back();
    heap_.pop_back();
    for (std::uint32_t place = top.place; place != kNoPlace; place = held_[place].next, --in_heap_)
      due_.push_back({held_[place].turn, held_[place].number, top.time_s, place});
    if (top.time_s == chain_s_) chain_s_ = -1;
    due_s_ = std::min(due_s_, top.time_s);
    in_order_ = false;
  }
  if (!in_order_ && due_.size() > 1)
    std::sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) {
      return a.turn != b.turn ? a.turn < b.turn : a.number < b.number;
    });
  in_order_ = true;
  left_ = !due_.empty();
  if (due_.empty() || due_.front().turn.kind > latest) return {Turn::Kind::signal, std::move(used.actions)};
  Batch batch{due_.front().turn.kind, std::move(used.actions)};
  auto end = due_.begin();
  for (; end != due_.end() && end->turn.kind == batch.kind; ++end) {
    batch.actions.push_back(std::move(held_[end->place].action));
    free_.push_back(end->place);
  }
  due_.erase(due_.begin(), end);
  due_s_ = kNever;
  for (const Due& entry : due_) due_s_ = std::min(due_s_, entry.time_s);
  left_ = !due_.empty();
  if (batch.kind == Turn::Kind::after) after_ -= batch.actions.size();
  return batch;
}

}  // namespace simsgd

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
  if (time_s <= instant_s_) {
    due_.push_back({turn, put_++, time_s, free_.back()});
    in_order_ = false;
    due_s_ = std::min(due_s_, time_s);
  } else {
    heap_.push_back({time_s, put_++, free_.back()});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  held_[free_.back()] = {turn, std::move(action)};
  free_.pop_back();
}

double Agenda::next_s() const { return heap_.empty() ? due_s_ : std::min(due_s_, heap_.front().time_s); }

Agenda::Batch Agenda::take(double now_s, Turn::Kind latest) { return take(now_s, latest, Batch()); }

Agenda::Batch Agenda::take(double now_s, Turn::Kind latest, Batch used) {
  used.actions.clear();
  instant_s_ = now_s;
  while (!heap_.empty() && not_after(heap_.front().time_s, now_s)) {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Entry& top = heap_.back();
    due_.push_back({held_[top.place].turn, top.number, top.time_s, top.place});
    due_s_ = std::min(due_s_, top.time_s);
    heap_.pop_back();
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

#include "sim/engine/agenda.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/instants.hpp"

namespace simsgd {

bool Agenda::later(const Entry& a, const Entry& b) {
  return a.time_s != b.time_s ? a.time_s > b.time_s : a.number > b.number;
}

bool Agenda::comes_first(const Entry& a, const Entry& b) const {
  const Turn &first = held_[a.place].turn, &second = held_[b.place].turn;
  return first != second ? first < second : a.number < b.number;
}

void Agenda::put(double time_s, Turn turn, Action action) {
  if (turn.kind == Turn::Kind::after) ++after_;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.emplace_back();
  }
  heap_.push_back({time_s, put_++, free_.back()});
  std::push_heap(heap_.begin(), heap_.end(), later);
  held_[free_.back()] = {turn, std::move(action)};
  free_.pop_back();
}

double Agenda::next_s() const {
  double next = heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().time_s;
  for (const Entry& entry : due_) next = std::min(next, entry.time_s);
  return next;
}

Agenda::Batch Agenda::take(double now_s, Turn::Kind latest) {
  while (!heap_.empty() && not_after(heap_.front().time_s, now_s)) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    due_.push_back(heap_.back());
    heap_.pop_back();
  }
  if (due_.size() > 1)
    std::sort(due_.begin(), due_.end(), [this](const Entry& a, const Entry& b) { return comes_first(a, b); });
  const auto kind = [this](const Entry& entry) { return held_[entry.place].turn.kind; };
  if (due_.empty() || kind(due_.front()) > latest) return {};
  Batch batch{kind(due_.front()), {}};
  auto end = due_.begin();
  for (; end != due_.end() && kind(*end) == batch.kind; ++end) {
    batch.actions.push_back(std::move(held_[end->place].action));
    free_.push_back(end->place);
  }
  due_.erase(due_.begin(), end);
  if (batch.kind == Turn::Kind::after) after_ -= batch.actions.size();
  return batch;
}

}  // namespace simsgd

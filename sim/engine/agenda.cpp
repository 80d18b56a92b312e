#include "sim/engine/agenda.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/instants.hpp"

namespace simsgd {

bool Agenda::later(const Entry& a, const Entry& b) {
  return a.time_s != b.time_s ? a.time_s > b.time_s : a.number > b.number;
}

bool Agenda::comes_first(const Entry& a, const Entry& b) {
  return a.turn != b.turn ? a.turn < b.turn : a.number < b.number;
}

void Agenda::put(double time_s, Turn turn, Action action) {
  if (turn.kind == Turn::Kind::after) ++after_;
  heap_.push_back({time_s, turn, put_++, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

double Agenda::next_s() const {
  double next = heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().time_s;
  for (const Entry& entry : due_) next = std::min(next, entry.time_s);
  return next;
}

Agenda::Batch Agenda::take(double now_s, Turn::Kind latest) {
  while (!heap_.empty() && not_after(heap_.front().time_s, now_s)) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    due_.push_back(std::move(heap_.back()));
    heap_.pop_back();
  }
  if (due_.size() > 1) std::sort(due_.begin(), due_.end(), comes_first);
  if (due_.empty() || due_.front().turn.kind > latest) return {};
  Batch batch{due_.front().turn.kind, {}};
  auto end = due_.begin();
  for (; end != due_.end() && end->turn.kind == batch.kind; ++end)
    batch.actions.push_back(std::move(end->action));
  due_.erase(due_.begin(), end);
  if (batch.kind == Turn::Kind::after) after_ -= batch.actions.size();
  return batch;
}

}  // namespace simsgd

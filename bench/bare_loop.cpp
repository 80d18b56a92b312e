#include "bench/bare_loop.hpp"

#include <algorithm>

namespace simsgd::bench {

namespace {
constexpr double kRounding = 1 + 1e-12;  // instants that differ by less are one
}

std::uint32_t BareLoop::path(int from, int to) {
  const std::uint32_t number = shares_.path(from, to);
  if (number == paths_.size()) paths_.emplace_back();
  return number;
}

void BareLoop::send(std::uint32_t path, double alpha_s, BareEvent end, double bytes) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t message = free_.back();
  free_.pop_back();
  messages_[message] = {end, path, kNone, bytes};
  at({now_s_ + alpha_s, kFlows, message});
}

bool BareLoop::next(BareEvent& event) {
  while (true) {
    if (shares_.changed() && (events_.empty() || events_.top().time_s > now_s_ * kRounding)) solve();
    if (events_.empty()) return false;
    event = events_.top();
    events_.pop();
    if (event.kind == kEnds && event.b != paths_[event.a].version) continue;
    now_s_ = std::max(now_s_, event.time_s);
    if (event.kind == kFlows) {
      begin(event.a);
      continue;
    }
    if (event.kind == kEnds) event = end(event.a);
    return true;
  }
}

void BareLoop::begin(std::uint32_t message) {
  Message& one = messages_[message];
  Path& path = paths_[one.path];
  advance(path);
  (path.first == kNone ? path.first : messages_[path.last].next) = message;
  path.last = message;
  path.changed = true;
  one.until += path.had;
  shares_.begin(one.path);
}

// Of the first message of the path.
BareEvent BareLoop::end(std::uint32_t number) {
  Path& path = paths_[number];
  const Message& one = messages_[path.first];
  path.had = one.until;
  path.since_s = now_s_;
  free_.push_back(path.first);
  path.first = one.next;
  path.changed = true;
  ++path.version;
  shares_.end(number);
  if (path.first == kNone)
    path.had = path.rate_Bps = 0;
  else if (messages_[path.first].until <= path.had * kRounding)
    put_end(number);
  return one.end;
}

void BareLoop::advance(Path& path) const {
  path.had += path.rate_Bps * (now_s_ - path.since_s);
  path.since_s = now_s_;
}

void BareLoop::put_end(std::uint32_t number) {
  Path& path = paths_[number];
  const double left_s = std::max(0.0, (messages_[path.first].until - path.had) / path.rate_Bps);
  at({now_s_ + left_s, kEnds, number, ++path.version});
}

void BareLoop::solve() {
  for (const auto& [number, rate_Bps] : shares_.solve()) {
    Path& path = paths_[number];
    if (rate_Bps == path.rate_Bps && !path.changed) continue;
    advance(path);
    path.rate_Bps = rate_Bps;
    path.changed = false;
    put_end(number);
  }
}

}  // namespace simsgd::bench

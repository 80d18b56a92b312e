#include "bench/bare_loop.hpp"

#include <algorithm>
#include <limits>

namespace simsgd::bench {

namespace {
constexpr double kRounding = 1 + 1e-12;  // instants that differ by less are one
}

BareLoop::BareLoop(const Network& network, double bytes) : network_(network), bytes_(bytes) {
  for (const simsgd::Link& link : network.links) links_.push_back({.bandwidth_Bps = link.bandwidth_Bps});
}

std::uint32_t BareLoop::path(int from, int to) {
  std::vector<LinkId> ids;
  network_.route(from, to, ids);
  const auto [number, fresh] = numbers_.try_emplace(ids, static_cast<std::uint32_t>(paths_.size()));
  if (!fresh) return number->second;
  Path& path = paths_.emplace_back();
  for (const LinkId id : ids) {
    path.links.push_back(static_cast<std::uint32_t>(id));
    path.latency_s += network_.links[static_cast<std::size_t>(id)].latency_s;
  }
  return number->second;
}

void BareLoop::send(std::uint32_t path, double alpha_s, BareEvent end) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t message = free_.back();
  free_.pop_back();
  messages_[message] = {end, path};
  at({now_s_ + alpha_s, kFlows, message});
}

bool BareLoop::next(BareEvent& event) {
  while (true) {
    if (!changed_.empty() && (events_.empty() || events_.top().time_s > now_s_ * kRounding)) solve();
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
  if (path.flows == 0)
    for (const std::uint32_t link : path.links) links_[link].paths.push_back(one.path);
  (path.flows == 0 ? path.first : messages_[path.last].next) = message;
  path.last = message;
  ++path.flows;
  one.until = path.had + bytes_;
  changes(one.path);
}

// Of the first message of the path.
BareEvent BareLoop::end(std::uint32_t number) {
  Path& path = paths_[number];
  const Message& one = messages_[path.first];
  path.had = one.until;
  path.since_s = now_s_;
  free_.push_back(path.first);
  path.first = one.next;
  ++path.version;
  changes(number);
  if (--path.flows > 0) {
    if (messages_[path.first].until <= path.had * kRounding) put_end(number);
    return one.end;
  }
  path.had = path.rate_Bps = 0;
  for (const std::uint32_t link : path.links) {
    std::vector<std::uint32_t>& others = links_[link].paths;
    *std::find(others.begin(), others.end(), number) = others.back();
    others.pop_back();
  }
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

void BareLoop::changes(std::uint32_t number) {
  paths_[number].changed = true;
  changed_.insert(changed_.end(), paths_[number].links.begin(), paths_[number].links.end());
}

// The messages that the changed links connect: the narrowest link gives its messages an equal share each,
// and those take it from their other links.
void BareLoop::solve() {
  ++solution_;
  for (const std::uint32_t changed : changed_) {
    together_.clear();
    collect(changed);
    while (!together_.empty()) {
      const Link* narrowest = nullptr;
      double share_Bps = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < together_.size();) {
        const Link& link = links_[together_[i]];
        if (link.open == 0) {
          std::swap(together_[i], together_.back());
          together_.pop_back();
          continue;
        }
        if (link.left_Bps < share_Bps * link.open) share_Bps = link.left_Bps / link.open, narrowest = &link;
        ++i;
      }
      if (narrowest == nullptr) break;
      for (const std::uint32_t path : narrowest->paths)
        if (paths_[path].solved != solution_) fix(path, share_Bps);
    }
  }
  changed_.clear();
}

void BareLoop::collect(std::uint32_t first) {
  if (std::exchange(links_[first].solved, solution_) == solution_) return;
  together_.push_back(first);
  for (std::size_t i = 0; i < together_.size(); ++i) {
    Link& link = links_[together_[i]];
    link.left_Bps = link.bandwidth_Bps;
    link.open = 0;
    for (const std::uint32_t path : link.paths) {
      link.open += paths_[path].flows;
      for (const std::uint32_t other : paths_[path].links)
        if (std::exchange(links_[other].solved, solution_) != solution_) together_.push_back(other);
    }
  }
}

void BareLoop::fix(std::uint32_t number, double rate_Bps) {
  Path& path = paths_[number];
  path.solved = solution_;
  for (const std::uint32_t id : path.links) {
    links_[id].left_Bps -= rate_Bps * path.flows;
    links_[id].open -= path.flows;
  }
  if (rate_Bps == path.rate_Bps && !path.changed) return;
  advance(path);
  path.rate_Bps = rate_Bps;
  path.changed = false;
  put_end(number);
}

}  // namespace simsgd::bench

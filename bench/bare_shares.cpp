#include "bench/bare_shares.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace simsgd::bench {

BareShares::BareShares(const Network& network) : network_(network) {
  for (const simsgd::Link& link : network.links) links_.push_back({.bandwidth_Bps = link.bandwidth_Bps});
}

std::uint32_t BareShares::path(int from, int to) {
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

void BareShares::begin(std::uint32_t number) {
  Path& path = paths_[number];
  changed_.insert(changed_.end(), path.links.begin(), path.links.end());
  if (path.flows++ == 0)
    for (const std::uint32_t link : path.links) links_[link].paths.push_back(number);
}

void BareShares::end(std::uint32_t number) {
  Path& path = paths_[number];
  changed_.insert(changed_.end(), path.links.begin(), path.links.end());
  if (--path.flows > 0) return;
  for (const std::uint32_t link : path.links) {
    std::vector<std::uint32_t>& others = links_[link].paths;
    *std::find(others.begin(), others.end(), number) = others.back();
    others.pop_back();
  }
}

const std::vector<BareShares::Rate>& BareShares::solve() {
  ++solution_;
  rates_.clear();
  for (const std::uint32_t changed : changed_) {
    together_.clear();
    collect(changed);
    share();
  }
  changed_.clear();
  return rates_;
}

// The links that flows connect with this one.
void BareShares::collect(std::uint32_t first) {
  if (std::exchange(links_[first].met, solution_) == solution_) return;
  together_.push_back(first);
  for (std::size_t i = 0; i < together_.size(); ++i) {
    Link& link = links_[together_[i]];
    link.left_Bps = link.bandwidth_Bps;
    link.open = 0;
    for (const std::uint32_t path : link.paths) {
      link.open += paths_[path].flows;
      if (std::exchange(paths_[path].met, solution_) == solution_) continue;
      for (const std::uint32_t other : paths_[path].links)
        if (std::exchange(links_[other].met, solution_) != solution_) together_.push_back(other);
    }
  }
}

// The narrowest link gives its flows an equal share each, and those take it from their other links.
void BareShares::share() {
  while (true) {
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
    if (narrowest == nullptr) return;
    for (const std::uint32_t path : narrowest->paths)
      if (paths_[path].solved != solution_) fix(path, share_Bps);
  }
}

void BareShares::fix(std::uint32_t number, double rate_Bps) {
  Path& path = paths_[number];
  path.solved = solution_;
  for (const std::uint32_t id : path.links) {
    links_[id].left_Bps -= rate_Bps * path.flows;
    links_[id].open -= path.flows;
  }
  rates_.push_back({number, rate_Bps});
}

}  // namespace simsgd::bench

#include "sim/engine/max_min.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace simsgd {

namespace {

// What a solution must have cost, in hops of flows, for each rate of it, to be worth keeping: shorter paths
// are solved as fast as they are looked up.
constexpr std::size_t kHopsWorthKnowing = 16;
constexpr std::size_t kMostRatesKnown = 4'000'000;  // 64 MB; then from the beginning

// All bits of it depend on all of both (the finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t capacity_hash(LinkId id, double capacity_Bps) {
  return mixed(static_cast<std::uint64_t>(id), std::bit_cast<std::uint64_t>(capacity_Bps));
}

}  // namespace

MaxMin::MaxMin(std::vector<double> capacity_Bps)
    : links_(capacity_Bps.size()), fillings_(capacity_Bps.size()) {
  for (std::size_t id = 0; id < links_.size(); ++id) links_[id].capacity_Bps = capacity_Bps[id];
}

void MaxMin::changes(LinkId id) {
  if (link(id).changed) return;
  link(id).changed = true;
  changed_.push_back(id);
}

// The one that is under way on that path, or a new one.
std::uint32_t MaxMin::bundle_of(std::span<const LinkId> path) {
  std::uint64_t hash = 1;  // mixed(0, 0) is 0: link 0 would be lost
  LinkId emptiest = path.front();
  for (const LinkId id : path) {
    hash = mixed(hash, static_cast<std::uint64_t>(id));
    if (link(id).crossings.size() < link(emptiest).crossings.size()) emptiest = id;
  }
  for (const Crossing& each : link(emptiest).crossings)
    if (bundles_[each.bundle].path == hash) return each.bundle;
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(bundles_.size()));
    bundles_.emplace_back();
    solved_.emplace_back();
  }
  const std::uint32_t number = unused_.back();
  unused_.pop_back();
  Bundle& bundle = bundles_[number];
  bundle.rate_Bps = 0;
  bundle.path = hash;
  bundle.path_number = kNoNumber;
  for (const LinkId id : path) {
    auto& crossings = link(id).crossings;
    crossings.push_back({number, static_cast<std::uint32_t>(bundle.hops.size())});
    bundle.hops.push_back({id, static_cast<std::uint32_t>(crossings.size() - 1)});
  }
  ++under_way_;
  return number;
}

void MaxMin::start(std::uint32_t flow, std::span<const LinkId> path, double bytes, double now_s) {
  const std::uint32_t number = bundle_of(path);
  Bundle& bundle = bundles_[number];
  advance(bundle, now_s);
  bundle.members.push_back({flow, bytes});
  if (bundle.rate_Bps > 0) put_end(number);
  state_ += bundle.path;
  bool alone = true;
  double narrowest_Bps = std::numeric_limits<double>::infinity();
  for (const LinkId id : path) {
    alone = ++link(id).flows == 1 && alone;
    narrowest_Bps = std::min(narrowest_Bps, link(id).capacity_Bps);
  }
  if (alone)
    set_rate(number, narrowest_Bps, now_s);
  else
    for (const LinkId id : path) changes(id);
}

void MaxMin::set_capacity(LinkId id, double capacity_Bps) {
  if (link(id).capacity_Bps == capacity_Bps) return;
  state_ += capacity_hash(id, capacity_Bps) - capacity_hash(id, link(id).capacity_Bps);
  link(id).capacity_Bps = capacity_Bps;
  if (!link(id).crossings.empty()) changes(id);
}

void MaxMin::remove(std::uint32_t number) {
  Bundle& bundle = bundles_[number];
  for (const Hop hop : bundle.hops) {
    auto& crossings = link(hop.link).crossings;
    const Crossing last = crossings.back();
    crossings[hop.place] = last;
    bundles_[last.bundle].hops[last.hop].place = hop.place;
    crossings.pop_back();
  }
  bundle.hops.clear();
  unused_.push_back(number);
  --under_way_;
}

void MaxMin::advance(Bundle& bundle, double now_s) {
  for (Member& each : bundle.members)
    each.left_bytes = std::max(0.0, each.left_bytes - bundle.rate_Bps * (now_s - bundle.since_s));
  bundle.since_s = now_s;
}

void MaxMin::set_rate(std::uint32_t number, double rate_Bps, double now_s) {
  Bundle& bundle = bundles_[number];
  if (bundle.rate_Bps == rate_Bps) return;
  advance(bundle, now_s);
  bundle.rate_Bps = rate_Bps;
  put_end(number);
}

void MaxMin::put_end(std::uint32_t number) {
  const Bundle& bundle = bundles_[number];
  double least_bytes = std::numeric_limits<double>::infinity();
  for (const Member& each : bundle.members) least_bytes = std::min(least_bytes, each.left_bytes);
  ends_.put(number, bundle.since_s + least_bytes / bundle.rate_Bps);
}

// The links that flows join with the first one, emptied.
void MaxMin::find_connected(LinkId first) {
  connected_.assign(1, first);
  filling(first).seen = solution_;
  for (std::size_t next = 0; next < connected_.size(); ++next) {
    SharedLink& here = link(connected_[next]);
    here.changed = false;
    filling(connected_[next]).left_Bps = here.capacity_Bps;
    filling(connected_[next]).open = here.flows;
    hops_solved_ += here.crossings.size();
    for (const Crossing& crossing : here.crossings) {
      if (solved_[crossing.bundle].seen == solution_) continue;
      solved_[crossing.bundle].seen = solution_;
      for (const Hop hop : bundles_[crossing.bundle].hops) {
        if (filling(hop.link).seen == solution_) continue;
        filling(hop.link).seen = solution_;
        connected_.push_back(hop.link);
      }
    }
  }
}

// Fills what is connected with the link from the least share up. A link's share only grows while others are
// fixed at less, so one that was put down is looked at again when it comes up.
void MaxMin::solve(LinkId first, double now_s) {
  const auto larger = [](const Share& a, const Share& b) { return a.rate_Bps > b.rate_Bps; };
  ++solution_;
  find_connected(first);
  shares_.clear();
  for (const LinkId id : connected_)
    if (filling(id).open > 0) shares_.push_back({filling(id).left_Bps / filling(id).open, id});
  std::make_heap(shares_.begin(), shares_.end(), larger);
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), larger);
    Share& least = shares_.back();
    const Filling& here = filling(least.link);
    if (here.open == 0) {
      shares_.pop_back();
      continue;
    }
    const double rate_Bps = here.left_Bps / here.open;
    if (rate_Bps > least.rate_Bps) {
      least.rate_Bps = rate_Bps;
      std::push_heap(shares_.begin(), shares_.end(), larger);
      continue;
    }
    const LinkId narrowest = least.link;
    shares_.pop_back();
    for (const Crossing& crossing : link(narrowest).crossings) {
      if (solved_[crossing.bundle].fixed == solution_) continue;
      solved_[crossing.bundle].fixed = solution_;
      const Bundle& bundle = bundles_[crossing.bundle];
      const auto flows = static_cast<std::uint32_t>(bundle.members.size());
      for (const Hop hop : bundle.hops) {
        Filling& crossed = filling(hop.link);
        crossed.open -= flows;
        crossed.left_Bps = crossed.open > 0 ? crossed.left_Bps - flows * rate_Bps : 0;
      }
      set_rate(crossing.bundle, rate_Bps, now_s);
    }
  }
}

std::uint32_t MaxMin::path_number(Bundle& bundle) {
  if (bundle.path_number == kNoNumber)
    bundle.path_number =
        path_numbers_.try_emplace(bundle.path, static_cast<std::uint32_t>(path_numbers_.size()))
            .first->second;
  return bundle.path_number;
}

// The rates of all that is under way.
void MaxMin::remember() {
  if (rates_known_ > kMostRatesKnown) {
    known_.clear();
    rates_known_ = 0;
  }
  std::vector<PathRate>& rates = known_[state_];
  rates.clear();
  for (Bundle& each : bundles_)
    if (!each.members.empty()) rates.push_back({path_number(each), each.rate_Bps});
  rates_known_ += rates.size();
}

// False: not known.
bool MaxMin::recall(double now_s) {
  const auto found = known_.find(state_);
  if (found == known_.end() || found->second.size() != under_way_) return false;
  rate_of_path_.resize(path_numbers_.size());
  for (const PathRate& rate : found->second) rate_of_path_[rate.path_number] = rate.rate_Bps;
  for (std::uint32_t number = 0; number < bundles_.size(); ++number)
    if (Bundle& bundle = bundles_[number]; !bundle.members.empty())
      set_rate(number, rate_of_path_[path_number(bundle)], now_s);
  for (const LinkId id : changed_) link(id).changed = false;
  ++recalled_;
  return true;
}

double MaxMin::next_end_s(double now_s) {
  if (!changed_.empty() && (known_.empty() || !recall(now_s))) {
    hops_solved_ = 0;
    for (const LinkId id : changed_)
      if (link(id).changed) solve(id, now_s);
    if (hops_solved_ > kHopsWorthKnowing * under_way_) remember();
  }
  changed_.clear();
  return ends_.empty() ? std::numeric_limits<double>::infinity() : ends_.front().time_s;
}

void MaxMin::take_ended(double now_s, std::vector<std::uint32_t>& ended) {
  while (!ends_.empty() && not_after(ends_.front().time_s, now_s)) {
    const std::uint32_t number = ends_.front().number;
    Bundle& bundle = bundles_[number];
    const auto next =
        std::min_element(bundle.members.begin(), bundle.members.end(),
                         [](const Member& a, const Member& b) { return a.left_bytes < b.left_bytes; });
    ended.push_back(next->flow);
    bundle.members.erase(next);
    state_ -= bundle.path;
    for (const Hop hop : bundle.hops)
      if (--link(hop.link).flows > 0) changes(hop.link);
    if (!bundle.members.empty()) {
      put_end(number);
    } else {
      ends_.take_front();
      remove(number);
    }
  }
}

}  // namespace simsgd

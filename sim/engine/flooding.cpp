#include "sim/engine/flooding.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/instants.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}

Flooding::Flooding(const Job& job, Transport& transport)
    : job_(job), transport_(transport), ranks_(job.workers()), phases_(ceil_log2(job.workers())) {}

bool Flooding::by_recurrence() const {
  const Fidelity fidelity = job_.network.fidelity;
  return !job_.network.has_jitter() && fidelity != Fidelity::flows && fidelity != Fidelity::messages;
}

void Flooding::hear(int rank, int tag, Heard heard) {
  Channel& channel = channels_[tag];
  channel.heard.resize(static_cast<std::size_t>(ranks_));
  channel.heard[static_cast<std::size_t>(rank)] = std::move(heard);
}

double Flooding::hop_s(int rank, int phase) {
  if (hop_s_.empty())
    hop_s_.assign(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(phases_), -1.0);
  double& seconds = hop_s_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(phases_) +
                           static_cast<std::size_t>(phase)];
  if (seconds < 0) {
    const HostCosts& host = job_.cluster.host;
    seconds = transport_.path(rank, (rank + (1 << phase)) % ranks_, 0).alpha_s + host.before_s(0) +
              host.message_s + host.after_s(0);
  }
  return seconds;
}

Flooding::Flood& Flooding::flood_of(Channel& channel, std::uint64_t number) {
  const auto found = channel.floods.find(number);
  if (found != channel.floods.end()) return found->second;
  Flood flood;
  if (!finished_.empty()) {
    flood = std::move(finished_.back());
    finished_.pop_back();
  }
  const auto ranks = static_cast<std::size_t>(ranks_);
  flood.known_s.assign(ranks * (static_cast<std::size_t>(phases_) + 1), kNever);
  flood.reached.assign(ranks, 0);
  flood.unreached = ranks_;
  flood.arrivals = {};
  flood.armed_s = kNever;
  return channel.floods.emplace(number, std::move(flood)).first->second;
}

// Follows the messages that leave earlier than was known so far.
void Flooding::propagate(Flood& flood, Hop first) {
  hops_.assign(1, first);
  while (!hops_.empty()) {
    const Hop hop = hops_.back();
    hops_.pop_back();
    double* known =
        flood.known_s.data() + static_cast<std::size_t>(hop.rank) * (static_cast<std::size_t>(phases_) + 1);
    for (int phase = hop.phase; phase <= phases_ && known[phase] > hop.time_s; ++phase) {
      known[phase] = hop.time_s;
      if (phase < phases_)
        hops_.push_back({(hop.rank + (1 << phase)) % ranks_, phase + 1, hop.time_s + hop_s(hop.rank, phase)});
      else if (!flood.reached[static_cast<std::size_t>(hop.rank)])
        flood.arrivals.push({hop.time_s, hop.rank});
    }
  }
}

void Flooding::flood(int rank, int tag, std::uint64_t number) {
  Channel& channel = channels_[tag];
  Flood& flood = flood_of(channel, number);
  char& reached = flood.reached[static_cast<std::size_t>(rank)];
  if (reached) return;
  reached = 1;
  --flood.unreached;
  propagate(flood, {rank, 0, transport_.now()});
  arm(tag, number, flood);
}

// One timer at a time for each flood: for its earliest arrival.
void Flooding::arm(int tag, std::uint64_t number, Flood& flood) {
  while (!flood.arrivals.empty() && flood.reached[static_cast<std::size_t>(flood.arrivals.top().rank)])
    flood.arrivals.pop();
  if (flood.unreached == 0) {
    Channel& channel = channels_[tag];
    finished_.push_back(std::move(flood));
    channel.floods.erase(number);
    return;
  }
  if (flood.arrivals.empty() || flood.arrivals.top().time_s >= flood.armed_s) return;
  flood.armed_s = flood.arrivals.top().time_s;
  transport_.at(flood.armed_s, [this, tag, number] { deliver(tag, number); });
}

void Flooding::deliver(int tag, std::uint64_t number) {
  Channel& channel = channels_[tag];
  const auto found = channel.floods.find(number);
  if (found == channel.floods.end()) return;  // all have heard meanwhile
  Flood& flood = found->second;
  if (before(transport_.now(), flood.armed_s)) return;  // an earlier timer has taken this one's place
  std::vector<int> now;
  while (!flood.arrivals.empty() && not_after(flood.arrivals.top().time_s, transport_.now())) {
    const auto rank = static_cast<std::size_t>(flood.arrivals.top().rank);
    flood.arrivals.pop();
    if (flood.reached[rank]) continue;
    flood.reached[rank] = 1;
    --flood.unreached;
    now.push_back(static_cast<int>(rank));
  }
  std::sort(now.begin(), now.end());
  flood.armed_s = kNever;
  arm(tag, number, flood);
  for (const int rank : now) channel.heard[static_cast<std::size_t>(rank)](number);
}

}  // namespace simsgd

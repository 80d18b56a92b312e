#include "sim/engine/interference.hpp"

#include "sim/base/instants.hpp"

namespace simsgd {

Interference::Interference(const Cluster& cluster, Transport& transport) : transport_(transport) {
  const double share = cluster.device.communication_share.value_or(1);
  if (share == 1) return;
  const Network& network = cluster.network;
  std::vector<std::vector<SlowLink>> links(static_cast<std::size_t>(network.endpoints));
  for (std::size_t id = 0; id < network.links.size(); ++id)
    if (const int gpu = network.gpu_beside(network.links[id]); gpu >= 0)
      links[static_cast<std::size_t>(gpu)].push_back(
          {static_cast<LinkId>(id), network.share_beside(network.links[id], share)});
  for (const int endpoint : cluster.endpoint_of_rank)
    gpus_.push_back({links[static_cast<std::size_t>(endpoint)], {}});
}

void Interference::add(int rank, double from_s, double to_s) {
  if (gpus_[static_cast<std::size_t>(rank)].links.empty() || !before(from_s, to_s)) return;
  std::deque<Stretch>& stretches = gpus_[static_cast<std::size_t>(rank)].stretches;
  // What a handler computes while the main thread waits begins now, wherever that thread's clock stands.
  const double late_s = std::max(0.0, transport_.now() - from_s);
  const Stretch stretch{from_s + late_s, to_s + late_s};
  if (!stretches.empty() && not_after(stretch.begin_s, stretches.back().end_s)) {
    stretches.back().end_s = std::max(stretches.back().end_s, stretch.end_s);
  } else {
    stretches.push_back(stretch);
    if (stretches.size() == 1) arm(rank);
  }
}

void Interference::stops(int rank, double at_s) {
  if (gpus_.empty()) return;
  std::deque<Stretch>& stretches = gpus_[static_cast<std::size_t>(rank)].stretches;
  if (stretches.empty() || not_after(stretches.back().end_s, at_s)) return;
  while (!stretches.empty() && not_after(at_s, stretches.back().begin_s)) stretches.pop_back();
  if (!stretches.empty()) stretches.back().end_s = std::min(stretches.back().end_s, at_s);
  transport_.at(at_s, {Turn::Kind::signal, rank}, [this, rank] { advance(rank); });
}

// Brings the links to what holds now. Any number of calls is as good as one.
void Interference::advance(int rank) {
  Gpu& gpu = gpus_[static_cast<std::size_t>(rank)];
  const double now_s = transport_.now();
  while (!gpu.stretches.empty() && not_after(gpu.stretches.front().end_s, now_s)) gpu.stretches.pop_front();
  const bool computes = !gpu.stretches.empty() && not_after(gpu.stretches.front().begin_s, now_s);
  if (computes != gpu.computes) {
    gpu.computes = computes;
    for (const SlowLink& slow : gpu.links)
      transport_.set_bandwidth_share(slow.link, computes ? slow.share : 1);
  }
  arm(rank);
}

// The end of a stretch may move on until its event: then that makes another one.
void Interference::arm(int rank) {
  Gpu& gpu = gpus_[static_cast<std::size_t>(rank)];
  if (gpu.stretches.empty()) return;
  const double next_s = gpu.computes ? gpu.stretches.front().end_s : gpu.stretches.front().begin_s;
  if (gpu.armed_s <= next_s) return;
  gpu.armed_s = next_s;
  // As a signal: workers that compute on at this instant have said so by then.
  transport_.at(next_s, {Turn::Kind::signal, rank}, [this, rank, next_s] {
    if (gpus_[static_cast<std::size_t>(rank)].armed_s == next_s)
      gpus_[static_cast<std::size_t>(rank)].armed_s = kNever;
    advance(rank);
  });
}

void Slowdown::started(const Started& operation) {
  const auto channel = static_cast<std::size_t>(operation.channel);
  if (channel_free_s_.size() <= channel) channel_free_s_.resize(channel + 1, 0.0);
  double& free_s = channel_free_s_[channel];
  const double begin_s = std::max({free_s, operation.at_s, operation.begin_s});
  free_s = begin_s + operation.seconds;
  const auto under_way = std::find_if(spans_.begin(), spans_.end(),
                                      [&](const Span& span) { return span.end_s > operation.at_s; });
  spans_.erase(spans_.begin(), under_way);
  if (spans_.capacity() == 0) spans_.reserve(4);
  if (spans_.empty() || free_s > spans_.back().end_s) spans_.push_back({free_s, operation.traffic, begin_s});
}

}  // namespace simsgd

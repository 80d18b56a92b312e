#include "bench/bare_broadcasts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace simsgd::bench {

BareBroadcasts::BareBroadcasts(const Job& job)
    : host_(job.cluster.host),
      loop_(job.cluster.network, 0),
      workers_(static_cast<std::uint32_t>(job.workers())) {
  const Network& network = job.cluster.network;
  const std::vector<int>& endpoint = job.cluster.endpoint_of_rank;
  beta_s_per_byte_ = network.path_cost(endpoint[0], endpoint[1]).beta_s_per_byte;
  bool equal = std::has_single_bit(workers_);
  for (std::uint32_t distance = 1; distance < workers_; distance *= 2) {
    std::vector<std::uint32_t>& paths = paths_.emplace_back();
    for (std::uint32_t w = 0; w < workers_; ++w) {
      const int to = endpoint[(w + distance) % workers_];
      paths.push_back(loop_.path(endpoint[w], to));
      const double alpha_s = loop_.latency_s(paths.back()) + host_.message_s;
      if (alpha_s_ == 0) alpha_s_ = alpha_s;
      equal = equal && std::fabs(alpha_s - alpha_s_) <= 1e-12 * alpha_s_ &&
              network.path_cost(endpoint[w], to).beta_s_per_byte == beta_s_per_byte_;
    }
  }
  if (!equal) throw std::runtime_error("the bare program knows equal links and powers of two");
}

double BareBroadcasts::end_s(std::uint32_t root, double bytes, const std::vector<double>& came_s) {
  enum Kind : std::uint32_t { kReady, kMessage, kPassed };
  const double part_bytes = bytes / workers_;
  // By place after the root: the distance to the partner of its next message in the tree, 0: none is left;
  // and the same where it waits for that one.
  std::vector<std::uint32_t> distance(workers_), waits(workers_, 0);
  std::uint32_t in_ring = 0, left = workers_;
  double end_s = 0;
  const auto send = [&](std::uint32_t from, std::uint32_t by, double message_bytes, BareEvent end) {
    const std::uint32_t path =
        paths_[static_cast<std::size_t>(std::countr_zero(by))][(from + root) % workers_];
    loop_.send(path, alpha_s_, end, message_bytes);
  };
  const auto go_on = [&](std::uint32_t place) {
    const std::uint32_t by = distance[place], other = place ^ by;
    if (by == 0) {
      if (++in_ring < workers_) return;
      for (std::uint32_t each = 0; each < workers_; ++each)
        send(each, 1, part_bytes * (workers_ - 1), {0, kPassed});
    } else if (waits[other] == by) {
      waits[other] = 0;
      send(std::min(place, other), by, part_bytes * by, {0, kMessage, place, other});
    } else {
      waits[place] = by;
    }
  };
  for (std::uint32_t place = 0; place < workers_; ++place) {
    distance[place] = place == 0 ? workers_ / 2 : 1U << std::countr_zero(place);
    loop_.at({came_s[(place + root) % workers_] + host_.before_s(bytes, 0), kReady, place});
  }
  for (BareEvent event; left > 0 && loop_.next(event);) {
    if (event.kind == kReady) {
      go_on(event.a);
    } else if (event.kind == kMessage) {
      for (const std::uint32_t side : {event.a, event.b}) distance[side] /= 2, go_on(side);
    } else {
      --left;
      end_s = loop_.now_s() + (workers_ - 2) * alpha_s_ + host_.after_s(bytes, 0);
    }
  }
  return end_s;
}

double BareBroadcasts::predicted_s(double bytes) const {
  const double levels = std::countr_zero(workers_), hops = workers_ - 1;
  return host_.before_s(bytes, 0) + (levels + hops) * alpha_s_ +
         2 * hops / workers_ * bytes * beta_s_per_byte_ + host_.after_s(bytes, 0);
}

double BareBroadcasts::all_reduce_s(double bytes, int tensors) const {
  const double hops = workers_ - 1;
  return host_.before_s(bytes, tensors) + 2 * hops * alpha_s_ +
         hops / workers_ * bytes * (2 * beta_s_per_byte_ + host_.reduce_s_per_byte) +
         host_.after_s(bytes, tensors);
}

}  // namespace simsgd::bench

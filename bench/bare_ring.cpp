#include "bench/bare_ring.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace simsgd::bench {

double bare_ring_s(const Cluster& cluster, double bytes) {
  const auto ranks = static_cast<std::size_t>(cluster.workers());
  std::vector<double> takes_s(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    const PathCost path =
        cluster.network.path_cost(cluster.endpoint_of_rank[i], cluster.endpoint_of_rank[(i + 1) % ranks]);
    takes_s[i] = path.alpha_s + bytes / static_cast<double>(ranks) * path.beta_s_per_byte;
  }
  struct End {
    double time_s;
    std::size_t sender;
    bool operator>(const End& other) const { return time_s > other.time_s; }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<std::size_t> step(ranks, 0), open(ranks, 2);
  double now_s = 0;
  const auto try_start = [&](std::size_t sender) {
    if (step[sender] == step[(sender + 1) % ranks]) ends.push({now_s + takes_s[sender], sender});
  };
  for (std::size_t i = 0; i < ranks; ++i) try_start(i);
  while (!ends.empty()) {
    const End end = ends.top();
    ends.pop();
    now_s = end.time_s;
    for (const std::size_t rank : {end.sender, (end.sender + 1) % ranks}) {
      if (--open[rank] > 0) continue;
      open[rank] = 2;
      if (++step[rank] == 2 * (ranks - 1)) continue;
      try_start(rank);
      try_start((rank + ranks - 1) % ranks);
    }
  }
  return now_s;
}

}  // namespace simsgd::bench

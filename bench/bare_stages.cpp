#include "bench/bare_stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace simsgd::bench {

double bare_stages_s(const Cluster& cluster, const Schedule& schedule) {
  const Network& network = cluster.network;
  std::vector<int> flows(network.links.size());
  std::vector<LinkId> path;
  double end_s = 0;
  for (const Stage& stage : schedule.stages) {
    const auto route_of = [&](std::size_t sender) {
      path.clear();
      network.route(cluster.endpoint_of_rank[sender],
                    cluster.endpoint_of_rank[static_cast<std::size_t>(stage.to[sender])], path);
    };
    std::fill(flows.begin(), flows.end(), 0);
    for (std::size_t sender = 0; sender < stage.to.size(); ++sender) {
      route_of(sender);
      for (const LinkId id : path) ++flows[static_cast<std::size_t>(id)];
    }
    double least_s = std::numeric_limits<double>::infinity(), most_s = 0;
    for (std::size_t sender = 0; sender < stage.to.size(); ++sender) {
      route_of(sender);
      double alpha_s = 0, share_Bps = std::numeric_limits<double>::infinity();
      for (const LinkId id : path) {
        const Link& link = network.links[static_cast<std::size_t>(id)];
        alpha_s += link.latency_s;
        share_Bps = std::min(share_Bps, link.bandwidth_Bps / flows[static_cast<std::size_t>(id)]);
      }
      least_s = std::min(least_s, alpha_s + stage.bytes / share_Bps);
      most_s = std::max(most_s, alpha_s + stage.bytes / share_Bps);
    }
    if (most_s > least_s * (1 + 1e-12)) throw std::runtime_error("ranks of a stage do not end together");
    end_s += stage.repeat * most_s;
  }
  return end_s;
}

}  // namespace simsgd::bench

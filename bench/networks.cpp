#include "bench/networks.hpp"

#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "sim/base/random.hpp"
#include "sim/collectives/schedules.hpp"
#include "topologies/topology.hpp"

namespace simsgd::bench {

namespace {

Cluster cluster_on(const std::string& topology, const NodeShape& shape, const Json& parameters) {
  Cluster cluster;
  cluster.nodes = shape.nodes;
  cluster.gpus_per_node = shape.gpus_per_node;
  cluster.network = find_plugin(topology_plugins(), topology, "topology").make(parameters, shape);
  cluster.endpoint_of_rank.resize(static_cast<std::size_t>(cluster.network.endpoints));
  std::iota(cluster.endpoint_of_rank.begin(), cluster.endpoint_of_rank.end(), 0);
  return cluster;
}

NodeShape shape(int nodes, int gpus_per_node, int nics) {
  return {nodes, gpus_per_node, 300e9, 2e-6, 25e9, 5e-6, nics};
}

}  // namespace

Cluster unequal_star(int ranks) {
  Cluster cluster = cluster_on("star", shape(ranks, 1, 1), Json::object());
  Stream draws({1, Purpose::placement, 0, 0});
  for (Link& link : cluster.network.links) link.bandwidth_Bps *= 0.8 + 0.2 * draws.uniform();
  return cluster;
}

Cluster fat_tree(int nodes, int gpus_per_node, bool shuffled) {
  Cluster cluster =
      cluster_on("fat_tree", shape(nodes, gpus_per_node, 1), {{"leaf_nodes", 16}, {"oversubscription", 4}});
  if (!shuffled) return cluster;
  Stream draws({2, Purpose::placement, 0, 0});
  std::vector<int> order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[draws.below(static_cast<std::uint32_t>(i))]);
  for (int rank = 0; rank < cluster.workers(); ++rank)
    cluster.endpoint_of_rank[static_cast<std::size_t>(rank)] =
        order[static_cast<std::size_t>(rank / gpus_per_node)] * gpus_per_node + rank % gpus_per_node;
  return cluster;
}

Cluster shared_star(int nodes, int gpus_per_node) {
  return cluster_on("star", shape(nodes, gpus_per_node, 1), Json::object());
}

Cluster railed_star(int nodes, int gpus_per_node) {
  return cluster_on("star", shape(nodes, gpus_per_node, gpus_per_node), Json::object());
}

Plan all_reduce_plan(const Cluster& cluster, const std::string& schedule, double bytes) {
  std::vector<int> ranks(static_cast<std::size_t>(cluster.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const SchedulePlugin* plugin = find_schedule(CollectiveOp::all_reduce, schedule);
  if (!plugin) throw std::runtime_error("no schedule " + schedule);
  return Plan(plugin->make({cluster.workers(), bytes, 0, ranks_per_node(cluster, ranks)}), cluster, ranks,
              bytes);
}

}  // namespace simsgd::bench

// Clusters and plans for the tests of collectives: networks by name, or ports of a switch that a test sets
// one by one.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "sim/collectives/plan.hpp"
#include "sim/collectives/schedules.hpp"
#include "topologies/topology.hpp"

namespace simsgd::test {

inline constexpr double kAlpha = 5e-6;      // s
inline constexpr double kBandwidth = 25e9;  // bytes/s

inline Cluster cluster_on(Network network, int gpus_per_node = 1) {
  Cluster cluster;
  cluster.gpus_per_node = gpus_per_node;
  cluster.nodes = network.endpoints / gpus_per_node;
  cluster.endpoint_of_rank.resize(static_cast<std::size_t>(network.endpoints));
  std::iota(cluster.endpoint_of_rank.begin(), cluster.endpoint_of_rank.end(), 0);
  cluster.network = std::move(network);
  return cluster;
}

/// GPUs on NVLink (2 us, 300 GB/s) inside nodes that have NICs of 5 us and 25 GB/s.
inline Cluster make_cluster(const std::string& topology, int nodes, int gpus_per_node = 1, int nics = 1,
                            const Json& parameters = Json::object()) {
  const NodeShape shape{nodes, gpus_per_node, 300e9, 2e-6, kBandwidth, kAlpha, nics};
  for (const TopologyPlugin& plugin : topology_plugins())
    if (plugin.info.name == topology) return cluster_on(plugin.make(parameters, shape), gpus_per_node);
  FAIL("no topology " << topology);
  return {};
}

/// A star of equal ports: a message takes 5 us + bytes / (25 GB/s).
inline Cluster star(int ranks) { return make_cluster("star", ranks); }

/// A star in which what rank i sends takes its own latency and bandwidth.
inline Cluster cluster_of_ports(const std::vector<double>& alpha_s,
                                const std::vector<double>& bandwidth_Bps) {
  Network network;
  network.endpoints = static_cast<int>(alpha_s.size());
  for (std::size_t i = 0; i < alpha_s.size(); ++i) {
    network.add_link({"up" + std::to_string(i), bandwidth_Bps[i], alpha_s[i]});
    network.add_link({"down" + std::to_string(i), 1e15, 0});
  }
  network.route = [](int from, int to, std::vector<LinkId>& path) {
    path.push_back(2 * from);
    path.push_back(2 * to + 1);
  };
  return cluster_on(std::move(network));
}

inline std::vector<int> all_ranks(const Cluster& cluster) {
  std::vector<int> ranks(static_cast<std::size_t>(cluster.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

inline Plan plan_of(CollectiveOp op, const std::string& schedule, double bytes, const Cluster& cluster,
                    int root = 0) {
  const std::vector<int> ranks = all_ranks(cluster);
  const SchedulePlugin* plugin = find_schedule(op, schedule);
  REQUIRE(plugin != nullptr);
  const ScheduleRequest request{cluster.workers(), bytes, root, ranks_per_node(cluster, ranks)};
  return Plan(plugin->make(request), cluster, ranks, bytes);
}

inline std::vector<double> ends_of(const Plan& plan, const std::vector<double>& arrivals,
                                   const JitterDraws* jitter = nullptr) {
  std::vector<double> ends;
  plan.ends_by_steps(arrivals, jitter, ends);
  return ends;
}

/// Arrivals or costs that differ from rank to rank, in [0, scale).
inline std::vector<double> spread(int count, double scale, std::uint32_t which) {
  Stream draws({17, Purpose::algorithm, which, 0});
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(scale * draws.uniform());
  return values;
}

/// A star of up to 20 % slower ports and latencies from 1 us to 5 us.
inline Cluster uneven_star(int ranks, std::uint32_t which) {
  std::vector<double> alpha = spread(ranks, 4e-6, 2 * which), bandwidth = spread(ranks, 0.2, 2 * which + 1);
  for (double& a : alpha) a += 1e-6;
  for (double& b : bandwidth) b = kBandwidth * (1 - b);
  return cluster_of_ports(alpha, bandwidth);
}

inline Distribution lognormal(double median_s, double sigma) {
  return {Distribution::Kind::lognormal, 0, median_s, sigma, {}, {}};
}

}  // namespace simsgd::test

// The cluster that a job runs on: devices, hosts and network, and where each worker sits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/device.hpp"
#include "sim/cluster/handover.hpp"
#include "sim/cluster/island.hpp"
#include "sim/cluster/network.hpp"

namespace simsgd {

struct Cluster {
  std::string name;
  int nodes = 0;
  int gpus_per_node = 1;
  Device device;
  HostCosts host;
  Network network;
  std::vector<double> node_speed;  ///< relative speed of each node's GPUs; empty: all 1
  std::vector<int> endpoint_of_rank;
  Handover handover{};             ///< of the communication stack
  std::optional<Island> island{};  ///< that each worker is; none: a GPU

  int gpus_per_worker() const { return island ? island->gpus : 1; }
  int workers() const { return static_cast<int>(endpoint_of_rank.size()); }
  int node_of_rank(int rank) const {
    return endpoint_of_rank[static_cast<std::size_t>(rank)] / gpus_per_node;
  }
  double speed_of_rank(int rank) const {
    return node_speed.empty() ? 1.0 : node_speed[static_cast<std::size_t>(node_of_rank(rank))];
  }
};

}  // namespace simsgd

// The cluster that a job runs on: devices, hosts and network, and where each worker sits.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/network.hpp"

namespace simsgd {

/// What second-order methods cost on a device, beyond forward and backward passes. The models:
/// algorithms/services/kfac_costs.
struct KfacDevice {
  double gemm_efficiency = 0;    ///< share of peak_flops that the products of factors reach; 0: as `efficiency`
  double factor_overhead_s = 0;  ///< for each factor: patches, running average, launches
  struct InverseTime {
    double dimension = 0;
    double seconds = 0;
  };
  std::vector<InverseTime> inverse;  ///< measured kernels by ascending dimension; empty: by FLOPs
  double inverse_overhead_s = 0;     ///< for each matrix inverted
};

/// A GPU. Peak rates are the vendor's; `efficiency` is the share of the peak that training kernels reach.
struct Device {
  std::string name;
  double peak_flops = 0;    ///< fp32 (or the rate training uses), multiply-add counted as 2
  double efficiency = 0.5;  ///< achieved share of peak_flops
  double memory_bytes = 0;
  double memory_Bps = 0;       ///< device memory bandwidth
  double launch_s = 0;         ///< overhead per kernel (layer and direction)
  /// Computing takes 1 + this times as long while a collective is in progress on the device.
  double communication_slowdown = 0;
  KfacDevice kfac;
  double price_usd_per_h = 0;  ///< of one GPU with its share of the node; 0 where unknown
  double selection_s = 0;      ///< choosing k of d entries takes this x d log2 d, whatever k
  double busy_W = 0;           ///< while computing
  double idle_W = 0;           ///< while waiting or communicating
  std::string source;
};

/// What the host adds to a message or a collective. All are 0 by default: the network alone. Units and where
/// each is charged: docs/model.md, "Host costs".
struct HostCosts {
  double launch_s = 0;         ///< per operation and worker, before its first byte moves
  double pack_s_per_byte = 0;  ///< copy into a fusion buffer before, and out of it after, per byte of payload
  double staging_Bps = 0;  ///< device-to-host copy before and host-to-device copy after; 0: no staging (RDMA)
  double reduce_s_per_byte = 0;  ///< adding a received byte to the local sum
  double overlap_s = 0;  ///< before the end of a backward pass at which what follows it begins

  double tensor_s = 0;   ///< for each tensor that is gathered into a message
  double scale_s_per_byte = 0;  ///< multiplying a vector by a number (sgp)

  /// Time before the first byte of a `bytes` payload, gathered from so many `tensors`, moves; and after the
  /// last one has arrived. Without tensors it is not packed: it is sent from where it lies.
  double before_s(double bytes, int tensors = 1) const {
    return launch_s + tensors * tensor_s + after_s(bytes, tensors);
  }
  double after_s(double bytes, int tensors = 1) const {
    return (tensors > 0 ? bytes * pack_s_per_byte : 0) + (staging_Bps > 0 ? bytes / staging_Bps : 0);
  }
};

/// What sparsified gradients cost beyond their messages and the device's selection. All are 0 by default.
/// Units and where each is charged: docs/model.md, "Sparse gradients".
struct SparsificationCosts {
  double accumulate_s = 0;  ///< per dense parameter: gathering the gradient, adding the residual; computing
  double copy_s = 0;        ///< per dense parameter: copies on the host beside both staging copies
  double merge_s = 0;       ///< per received entry of a merge, on the host
  double add_s = 0;         ///< per gathered entry that is added into a dense vector, on the host
};

struct Cluster {
  std::string name;
  int nodes = 0;
  int gpus_per_node = 1;
  Device device;
  HostCosts host;
  SparsificationCosts sparsification;
  Network network;
  std::vector<double> node_speed;  ///< relative speed of each node's GPUs; empty: all 1
  std::vector<int> endpoint_of_rank;

  int workers() const { return static_cast<int>(endpoint_of_rank.size()); }
  int node_of_rank(int rank) const {
    return endpoint_of_rank[static_cast<std::size_t>(rank)] / gpus_per_node;
  }
  double speed_of_rank(int rank) const {
    return node_speed.empty() ? 1.0 : node_speed[static_cast<std::size_t>(node_of_rank(rank))];
  }
};

}  // namespace simsgd

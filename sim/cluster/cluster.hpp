// The cluster that a job runs on: devices, hosts and network, and where each worker sits.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cost.hpp"
#include "sim/cluster/network.hpp"

namespace simsgd {

/// Products of matrices on a device: 2 m n k flop / (peak_flops x efficiency).
struct GemmKernel {
  Cost efficiency{};  ///< share of peak_flops; unknown: that of training kernels
  Cost gather_s{};    ///< for each product of a matrix that is gathered first: patches, running average,
                      ///< launches
};

/// Inverting a symmetric matrix on a device.
struct InverseKernel {
  struct Time {
    double dimension = 0;
    double seconds = 0;
  };
  std::vector<Time> times;  ///< of the kernel, by ascending dimension; empty: unknown, by FLOPs
  Cost overhead_s{};        ///< for each matrix
};

/// A GPU. Peak rates are the vendor's; `efficiency` is the share of the peak that training kernels reach.
struct Device {
  std::string name;
  double peak_flops = 0;    ///< fp32 (or the rate training uses), multiply-add counted as 2
  double efficiency = 0.5;  ///< achieved share of peak_flops
  double memory_bytes = 0;
  double memory_Bps = 0;     ///< peak bandwidth of the device's memory
  Cost launch_s{};           ///< overhead per kernel (layer and direction)
  Cost vector_efficiency{};  ///< share of memory_Bps that passes over long vectors reach
  Cost copy_Bps{};           ///< between the device's memory and the host's, each way
  /// Computing takes 1 + this times as long while a collective is in progress on the device.
  Cost communication_slowdown{};
  GemmKernel gemm;
  InverseKernel inverse;
  Cost selection_s{};          ///< choosing k of d entries takes this x d log2 d, whatever k
  double price_usd_per_h = 0;  ///< of one GPU with its share of the node; 0 where unknown
  double busy_W = 0;           ///< while computing
  double idle_W = 0;           ///< while waiting or communicating
  std::string source;

  /// Bytes that a pass over long vectors reads and writes in a second; 0 where nothing is known of it.
  double vector_Bps() const { return memory_Bps * vector_efficiency.value_or(1); }
};

/// What the host adds to a message or a collective. What is unknown counts as 0. Units and where each is
/// charged: docs/model.md, "Host costs".
struct HostCosts {
  Cost launch_s{};         ///< per operation and worker, before its first byte moves
  Cost pack_s_per_byte{};  ///< copy into a fusion buffer before, and out of it after, per byte of payload
  Cost staging_Bps{};      ///< device-to-host copy before and host-to-device copy after; 0: no staging (RDMA)
  Cost reduce_s_per_byte{};  ///< adding a received byte to the local sum
  double overlap_s = 0;      ///< before the end of a backward pass at which what follows it begins

  Cost tensor_s{};          ///< for each tensor that is gathered into a message
  Cost scale_s_per_byte{};  ///< multiplying a vector by a number (sgp)

  /// Time before the first byte of a `bytes` payload, gathered from so many `tensors`, moves; and after the
  /// last one has arrived. Without tensors it is not packed: it is sent from where it lies.
  double before_s(double bytes, int tensors = 1) const {
    return launch_s + tensors * tensor_s + after_s(bytes, tensors);
  }
  double after_s(double bytes, int tensors = 1) const {
    return (tensors > 0 ? bytes * pack_s_per_byte : 0) + (staging_Bps > 0 ? bytes / staging_Bps : 0);
  }
};

/// What sparsified gradients cost beyond their messages and the device's selection. What is unknown counts as
/// 0. Units and where each is charged: docs/model.md, "Sparse gradients".
struct SparsificationCosts {
  Cost accumulate_s{};  ///< per dense parameter: gathering the gradient, adding the residual; computing
  Cost copy_s{};        ///< per dense parameter: copies on the host beside both staging copies
  Cost merge_s{};       ///< per received entry of a merge, on the host
  Cost add_s{};         ///< per gathered entry that is added into a dense vector, on the host
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

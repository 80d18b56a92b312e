// The cluster that a job runs on: devices, hosts and network, and where each worker sits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/device.hpp"
#include "sim/cluster/network.hpp"

namespace simsgd {

// An island: GPUs on fast links that train as one worker, beside islands on slow ones. What its GPUs exchange
// among themselves is part of the worker's computing; messages to other islands leave from its first GPU.

struct Island {
  /// How its GPUs share a step.
  enum class Inside : std::uint8_t { data_parallel, sharded, tensor_parallel, given };

  int gpus = 1;
  Inside inside = Inside::data_parallel;
  int pieces = 1;
  bool overlap = false;
  std::optional<double> time_s;

  /// Whether each GPU computes the workload's batch, so that the worker's batch is `gpus` of them.
  bool multiplies_batch() const { return inside != Inside::tensor_parallel; }
  /// Whether each GPU has 1 / gpus of the model.
  bool divides_model() const { return inside == Inside::sharded || inside == Inside::tensor_parallel; }

  void fields(Fields& f) {
    f.whole("gpus", gpus,
            "One worker is this many GPUs: a divisor of the GPUs of a node, or all GPUs of one or more nodes")
        .required()
        .at_least(1);
    f.choice(
        "inside", inside,
        {{"data_parallel", Inside::data_parallel},
         {"sharded", Inside::sharded},
         {"tensor_parallel", Inside::tensor_parallel},
         {"given", Inside::given}},
        "How the GPUs share a step. data_parallel: each computes a batch, then they average their gradients. sharded: the same, but each holds 1 / gpus of the parameters, which are gathered for each pass. tensor_parallel: each computes 1 / gpus of each layer. given: data parallel, and the exchange takes as long as `time` says");
    f.whole("pieces", pieces, "Gradients or parameters travel in this many operations of equal size")
        .at_least(1)
        .at_most(10000);
    f.flag(
        "overlap", overlap,
        "Whether exchange and computing overlap completely, so that a pass takes as long as the longer of the two");
    f.time("time", time_s, "With \"inside\": \"given\", the exchange of each step takes this long")
        .by_rule("none");
  }
};

// How a communication library takes what algorithms hand to it, beyond what its operations cost: set by the
// cluster's stack (sim/stacks/stack.hpp). Without one it takes each operation as it comes.

/// Operations wait for the next tick of a clock that all workers share; the all-reduces that everybody has
/// handed over by then are fused. Sergeev, Del Balso, "Horovod", arXiv:1802.05799, section 4.
struct Negotiation {
  double cycle_s = 0;       ///< from tick to tick; 0: no waiting
  double agreement_s = 0;   ///< from a tick until its first operation begins
  double fusion_bytes = 0;  ///< at most so many in one buffer; an operation that is larger goes by itself
};

struct Handover {
  /// How gradients are handed over where the algorithm's options do not say it.
  enum class Gradients : std::uint8_t {
    as_asked,
    tensor_by_tensor,
    all_at_once
  } gradients = Gradients::as_asked;
  /// An operation begins when its worker next waits, or has computed its gradient: nothing overlaps.
  bool blocking = false;
  /// A payload of one tensor is sent from where it lies, and not copied into a buffer.
  bool single_in_place = false;
  std::optional<Negotiation> negotiation{};
};

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

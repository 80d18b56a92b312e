// What NCCL thinks that an operation takes: the estimate by which it chooses among its algorithms and
// protocols, whatever they take in truth. On one node of P GPUs, for a vector of m bytes:
//   ring       launch + s latency + m s / (P bus)        s = 2 (P-1) steps of all_reduce, P-1 of the others
//   tree       launch + 2 (g-1) latency + 2 log2(N) latency' + 2 m / (c(m) bus)
//   nvls       latency + m s / (P bus)                   reduction in the switch
//   nvls_tree  latency + 2 log2(N) latency' + m s / (P bus)
//   pat        launch + log2(N) latency' / 3.5 + P 2.8 us + m / bus
// with the latencies and shares of the bus that each protocol has, and c(m) a table. NCCL 2.29.7,
// src/graph/tuning.cc: ncclTunerConstantsDefaults, ncclTopoTuneModel, ncclTopoGetAlgoTime; what its search
// finds of a node's links: src/graph/search.cc, ncclTopoCompute, and src/graph/topo.h. 2.27.3 to 2.29.2
// change sizes where A100, H100, B200 and L40S jump, just where this says. Test:
// tests/stacks/nccl_estimate.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/fields.hpp"
#include "sim/collectives/operation.hpp"

namespace simsgd {

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls, nvls_tree, pat };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };

/// What NCCL knows about the machine.
struct NcclMachine {
  int compute_capability = 80;  ///< times ten
  bool nvlink = true;           ///< joins the GPUs of a node; else PCIe
  std::optional<double>
      inside_Bps{};                 ///< what it takes the links of a GPU for; none: as its tables have NVLink
  std::optional<double> nic_Bps{};  ///< of each NIC
  int nics = 1;                     ///< of a node
  bool amd = false;                 ///< processors
  double net_overhead_s = 1e-6;

  void fields(Fields& f);
};

/// A launch, and the latency of a step, by what it crosses.
struct NcclTuning {
  double launch_s, nvlink_s, pcie_s, net_s;
};
/// Of "pat": a level takes so much less than the network's latency, and each rank so long.
inline constexpr double kNcclPatLevels = 3.5, kNcclPatRank_s = 2.8e-6;

const NcclTuning& nccl_tuning(NcclAlgorithm algorithm, NcclProtocol protocol);

/// A group of `ranks` on so many nodes.
struct NcclGroup {
  int ranks = 1, nodes = 1;
};

/// Seconds; nothing where NCCL does not do the operation so.
std::optional<double> nccl_estimate_s(const NcclMachine& machine, CollectiveOp op, NcclAlgorithm algorithm,
                                      NcclProtocol protocol, const NcclGroup& group, double bytes);

/// Bytes per second that a GPU's links carry while the switch reduces: NCCL's efficiency of the generation,
/// of what its search finds; 0: the generation does not reduce in the switch.
double nccl_nvls_Bps(const NcclMachine& machine);

/// Channels of one node, before NCCL doubles them.
int nccl_channels(const NcclMachine& machine);

/// The algorithm that a schedule's name stands for in such a group.
std::optional<NcclAlgorithm> nccl_algorithm(const std::string& schedule, const NcclGroup& group);

}  // namespace simsgd

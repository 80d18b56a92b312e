#include "sim/stacks/nccl_estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace simsgd {

namespace {

constexpr std::size_t kProtocols = 3, kScales = 3;  // scales: one node, two, more
using Scales = std::array<double, kScales>;

// By algorithm and protocol (LL, LL128, Simple): baseLatencies, and hwLatencies of NVLINK, PCI and NET.
constexpr NcclTuning kTuning[][kProtocols] = {
    {{6.6e-6, 0.6e-6, 1.0e-6, 2.7e-6}, {14e-6, 1.9e-6, 2.5e-6, 4.0e-6}, {8.4e-6, 3.4e-6, 5.7e-6, 14e-6}},
    {{6.8e-6, 0.6e-6, 1.0e-6, 5.0e-6}, {14e-6, 1.25e-6, 1.9e-6, 8.5e-6}, {8.4e-6, 4.0e-6, 4.0e-6, 14e-6}},
    {{}, {}, {0, 25e-6, 0, 18e-6}},
    {{}, {}, {0, 25e-6, 0, 20.9e-6}},
    {{}, {}, {8e-6, 4e-6, 4e-6, 14e-6}}};

// In GB/s, the speeds of a channel that the search tries (search.cc: speedArrayIntra).
constexpr double kSpeeds[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kSpeeds90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kSpeeds100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};

/// Of a generation of GPUs: GB/s.
struct Generation {
  int from_capability;
  double nvlink;   ///< all links of a GPU, one way (topo.h: SM70_NVLINK_BW, ...)
  double ll_most;  ///< llMaxBws on one node
  /// Of a channel: perChMaxRingLL128Bws (the same at all scales), TreeLL128Bws, TreeBws, NVLSTreeBws.
  double ring_ll128;
  Scales tree_ll128, tree, nvls_tree;
  double nvls_efficiency;
  std::span<const double> speeds;
};
const Generation kGenerations[] = {
    {100, 18 * 40.1, 282, 40, {55.6, 31.67, 20}, {70, 42.8, 24}, {0, 96, 80}, 0.74, kSpeeds100},
    {90, 18 * 20.6, 141, 36.7, {36.7, 36.7, 29}, {38.7, 41.4, 36}, {0, 57.7, 45.5}, 0.85, kSpeeds90},
    {80, 12 * 20.0, 87.7, 20, {20, 20, 20}, {24, 23.6, 17.8}, {}, 0, kSpeeds},
    {0, 6 * 20.0, 39, 20, {20, 20, 20}, {26.5, 18.5, 10}, {}, 0, kSpeeds}};
// llMaxBws of several nodes, by their processors.
constexpr Scales kLlIntel = {0, 39, 20.4}, kLlAmd = {0, 22.5, 19};

// By protocol, for powers of two from 64 bytes on: treeCorrectionFactor.
constexpr double kTreeCorrection[kProtocols][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

const Generation& generation_of(const NcclMachine& machine) {
  return *std::find_if(std::begin(kGenerations), std::end(kGenerations), [&](const Generation& each) {
    return machine.compute_capability >= each.from_capability;
  });
}

/// What the search finds: channels of one speed.
struct Channels {
  double speed = 0;
  int count = 0;
  double bus() const { return speed * count; }
};

/// The search goes on from the first speed that fits down to half of it.
Channels most_of(std::span<const double> speeds, double links) {
  Channels best;
  double first = 0;
  for (const double speed : speeds) {
    if (speed > links || speed <= 0.49 * first) continue;
    first = std::max(first, speed);
    if (const Channels found{speed, static_cast<int>(links / speed)}; found.bus() > best.bus()) best = found;
  }
  return best.count > 0 ? best : Channels{links, 1};
}

/// Of a node. Channels are doubled where they are fast (ncclTopoDupChannels).
Channels channels_inside(const NcclMachine& machine) {
  const Generation& generation = generation_of(machine);
  const Channels found =
      most_of(generation.speeds, machine.inside_Bps ? *machine.inside_Bps / 1e9 : generation.nvlink);
  const bool fast = found.speed >= (machine.compute_capability > 80 && found.count > 4 ? 50 : 25);
  return fast ? Channels{found.speed / 2, found.count * 2} : found;
}

/// An estimate on its way: GB/s and us, as NCCL has them.
class Estimate {
 public:
  Estimate(const NcclMachine& machine, CollectiveOp op, const NcclGroup& group)
      : machine_(machine),
        generation_(generation_of(machine)),
        op_(op),
        ranks_(group.ranks),
        nodes_(group.nodes),
        per_node_(static_cast<double>(group.ranks) / group.nodes),
        scale_(static_cast<std::size_t>(std::min(nodes_, 3) - 1)),
        inside_(channels_inside(machine)) {
    nics_ = std::max(1, std::min(machine.nics, static_cast<int>(std::ceil(per_node_))));
    between_ = nics_ * machine.nic_Bps.value_or(0) / 1e9;
  }

  std::optional<double> seconds(NcclAlgorithm algorithm, NcclProtocol protocol, double bytes) const {
    if (!does(algorithm, protocol)) return std::nullopt;
    const double bandwidth = bandwidth_of(algorithm, protocol) * correction(algorithm, protocol, bytes);
    if (!(bandwidth > 0)) return std::nullopt;
    double latency_s = latency_of(algorithm, protocol);
    // "Plateau effect of ring"
    if (algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple && nodes_ > 1 && reduces_all() &&
        bytes / (channels() * ranks_) >= 64)
      latency_s *= machine_.compute_capability < 80 ? 1.9 : 1.4;
    return latency_s + bytes / (bandwidth * 1e9);
  }

 private:
  bool reduces_all() const { return op_ == CollectiveOp::all_reduce; }
  bool one_node() const { return nodes_ == 1; }
  int steps() const { return (reduces_all() ? 2 : 1) * (ranks_ - 1); }
  int channels() const { return one_node() ? inside_.count : std::max(2, nics_); }

  bool does(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const bool parts = op_ == CollectiveOp::all_gather || op_ == CollectiveOp::reduce_scatter;
    if (ranks_ < 2 || (!parts && !reduces_all())) return false;
    switch (algorithm) {
      case NcclAlgorithm::ring:
        return true;
      case NcclAlgorithm::tree:
        return reduces_all();
      case NcclAlgorithm::nvls:
        return protocol == NcclProtocol::simple && one_node() && ranks_ > 2;
      case NcclAlgorithm::nvls_tree:
        return protocol == NcclProtocol::simple && reduces_all() && !one_node() && per_node_ > 2;
      default:
        return protocol == NcclProtocol::simple && parts && nodes_ == ranks_;
    }
  }

  /// Of the vector, not of the bus.
  double bandwidth_of(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    switch (algorithm) {
      case NcclAlgorithm::ring:
        return ring_bus(protocol) * ranks_ / steps();
      case NcclAlgorithm::tree:
        return tree_bus(protocol) / 2;
      case NcclAlgorithm::nvls:
        return reduces_all() ? nvls_bus(false) * ranks_ / steps() : nvls_bus(false);
      case NcclAlgorithm::nvls_tree:
        return nvls_bus(true) * ranks_ / steps();
      default:
        return 0.75 * ring_bus(NcclProtocol::simple);
    }
  }

  double ll_most() const {
    return one_node() ? generation_.ll_most : (machine_.amd ? kLlAmd : kLlIntel)[scale_];
  }

  double ring_bus(NcclProtocol protocol) const {
    const double bus = one_node()       ? inside_.bus()
                       : per_node_ == 1 ? between_
                                        : std::min(inside_.bus(), between_);
    if (protocol == NcclProtocol::ll) return std::min(bus / 2, ll_most());
    if (protocol == NcclProtocol::ll128) return std::min(0.92 * bus, channels() * generation_.ring_ll128);
    return bus;
  }

  double tree_bus(NcclProtocol protocol) const {
    double bus = ring_bus(NcclProtocol::simple);
    // Of two nodes each sends to one other, so links inside may carry twice what the NICs do.
    if (nodes_ == 2) bus = per_node_ == 1 ? 2 * between_ : std::min(inside_.bus(), 2 * between_);
    bus = std::min(0.92 * bus, channels() * generation_.tree[scale_]);
    if (protocol == NcclProtocol::ll) bus = std::min(bus / 3.8, ll_most());
    if (protocol == NcclProtocol::ll128)
      bus = std::min(bus * (one_node() ? 7.0 / 9 : 120.0 / 128), channels() * generation_.tree_ll128[scale_]);
    // NCCL_TOPO_PATTERN_TREE: one GPU of a node sends and receives all.
    return per_node_ == 1 ? 0.85 * bus : bus;
  }

  /// Channels are the GPUs that pull from the switch, each twice as much through its own link as through the
  /// others' (ncclTopoSearchTryNvls).
  double nvls_bus(bool tree) const {
    const int most = static_cast<int>(generation_.nvlink / generation_.speeds.back()) - 1;
    const int heads = std::min(most, one_node() ? ranks_ : std::min(nics_, static_cast<int>(per_node_)));
    if (heads < 2) return 0;
    double speed = 0;
    for (const double each : generation_.speeds)
      if (each * (heads + 1) <= generation_.nvlink) speed = std::max(speed, each);
    double each = speed * generation_.nvls_efficiency * (heads - 1) / heads;
    each *= reduces_all() ? 2 : (per_node_ - 1) / per_node_;
    if (!tree) return heads * each;
    return heads * std::min({each, between_ / heads * (nodes_ == 2 ? 2 : 1), generation_.nvls_tree[scale_]});
  }

  double latency_of(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const NcclTuning& tuning = nccl_tuning(algorithm, protocol);
    double inside_s = machine_.nvlink ? tuning.nvlink_s : tuning.pcie_s;
    const double between_s = per_node_ == 1 ? nccl_tuning(NcclAlgorithm::tree, protocol).net_s : tuning.net_s;
    const int levels = static_cast<int>(std::log2(nodes_));
    switch (algorithm) {
      case NcclAlgorithm::ring: {
        if (!one_node())
          inside_s = std::max(inside_s, machine_.net_overhead_s * (protocol == NcclProtocol::simple ? 3 : 1));
        const int between = (reduces_all() ? 2 : 1) * (nodes_ - 1);
        return tuning.launch_s + (steps() - between) * inside_s + between * between_s;
      }
      case NcclAlgorithm::tree: {
        const int inside = ranks_ / nodes_ - 1;  // of whole numbers, as NCCL divides them
        return tuning.launch_s + 2 * (inside * inside_s + levels * between_s);
      }
      case NcclAlgorithm::nvls:
        return inside_s;
      case NcclAlgorithm::nvls_tree:
        return tuning.launch_s + inside_s + 2 * levels * between_s;
      default:
        return tuning.launch_s + levels * between_s / kNcclPatLevels + ranks_ * kNcclPatRank_s;
    }
  }

  double correction(NcclAlgorithm algorithm, NcclProtocol protocol, double bytes) const {
    const bool tree = algorithm == NcclAlgorithm::tree,
               nvls_tree = algorithm == NcclAlgorithm::nvls_tree && machine_.compute_capability >= 100;
    if (bytes < 64 || !(tree || nvls_tree)) return 1;
    const auto size = static_cast<std::size_t>(std::log2(std::floor(bytes / 64)));
    return size < (tree ? 23U : 24U) ? kTreeCorrection[static_cast<std::size_t>(protocol)][size] : 1;
  }

  const NcclMachine& machine_;
  const Generation& generation_;
  CollectiveOp op_;
  int ranks_, nodes_;
  double per_node_;
  std::size_t scale_;
  Channels inside_;
  int nics_ = 1;
  double between_ = 0;
};

}  // namespace

void NcclMachine::fields(Fields& f) {
  f.whole("compute_capability", compute_capability,
          "Compute capability of the GPUs, times ten (A100: 80, H100: 90)")
      .at_least(10);
  f.flag("nvlink", nvlink, "Whether NVLink joins the GPUs of a node; else PCIe");
  f.bandwidth("inside", inside_Bps, "It assumes this bandwidth for a GPU's links")
      .by_rule("as its tables have NVLink");
  f.bandwidth("nic", nic_Bps, "It assumes this bandwidth for each NIC").by_rule("none: one node");
  f.whole("nics", nics, "It assumes this many NICs for a node").at_least(1);
  f.flag("amd", amd, "Whether the processors are AMD's");
  f.time("net_overhead", net_overhead_s, "What NCCL adds for the network (NCCL_NET_OVERHEAD)");
}

const NcclTuning& nccl_tuning(NcclAlgorithm algorithm, NcclProtocol protocol) {
  return kTuning[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
}

std::optional<double> nccl_estimate_s(const NcclMachine& machine, CollectiveOp op, NcclAlgorithm algorithm,
                                      NcclProtocol protocol, const NcclGroup& group, double bytes) {
  return Estimate(machine, op, group).seconds(algorithm, protocol, bytes);
}

int nccl_channels(const NcclMachine& machine) { return channels_inside(machine).count; }

double nccl_nvls_Bps(const NcclMachine& machine) {
  const Generation& generation = generation_of(machine);
  return generation.nvls_efficiency * most_of(generation.speeds, generation.nvlink).bus() * 1e9;
}

std::optional<NcclAlgorithm> nccl_algorithm(const std::string& schedule, const NcclGroup& group) {
  if (schedule == "ring") return NcclAlgorithm::ring;
  if (schedule == "double_binary_tree") return NcclAlgorithm::tree;
  if (schedule == "nvls") return group.nodes == 1 ? NcclAlgorithm::nvls : NcclAlgorithm::nvls_tree;
  if (schedule == "pat") return NcclAlgorithm::pat;
  return std::nullopt;
}

}  // namespace simsgd

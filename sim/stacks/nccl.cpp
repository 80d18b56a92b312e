// nccl: a kernel per operation, whose channels (one thread block each) pass the vector on around rings, or up
// and down a double binary tree, by one of three protocols: LL sends a flag beside every 4 bytes, LL128 8
// bytes of flags in every 128, Simple none, but whole slices behind a memory fence. The library takes what
// its tuning model says is the fastest; so does this stack, by the times of this cluster:
//   ring  2 (P-N) latency + 2 (N-1) latency' + 2 (P-1)/P m / (share B)
//   tree  2 (g-1) latency + 2 log2 N latency' + 2 m / (share B)
// each + launch + m payload; latency inside nodes, latency' between them and share are those of algorithm and
// protocol (N nodes of g ranks, P = N g, B of the link). LL128 is not taken over PCIe. Hu et al.,
// "Demystifying NCCL", arXiv:2507.04786 (channels, protocols); NCCL 2.29.7, src/graph/tuning.cc,
// ncclTunerConstantsDefaults and ncclTopoTuneModel (latencies in us, shares of bandwidth). Its latencies are
// whole steps: a cluster that uses them gives its own links only what a cable adds.
// Test: tests/stacks/nccl.cpp.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

namespace {

enum class NcclAlgorithm : std::uint8_t { automatic, ring, tree };
enum class NcclProtocol : std::uint8_t { automatic, ll, ll128, simple };
enum class NcclInside : std::uint8_t { nvlink, pcie };

/// What a protocol takes by one algorithm.
struct NcclWay {
  std::optional<double> launch_s, latency_s, between_latency_s, share;

  void fields(Fields& f) {
    f.time("launch", launch_s, "Once per operation").by_rule("as NCCL's tuning model has it");
    f.time("latency", latency_s, "A step inside a node has this latency")
        .by_rule("as NCCL's tuning model has it");
    f.time("between_latency", between_latency_s, "A step between nodes has this latency")
        .by_rule("as NCCL's tuning model has it");
    f.number("share", share, "The payload reaches this share of a link's bandwidth")
        .above(0)
        .at_most(1)
        .by_rule("as NCCL's tuning model has it");
  }
};

struct NcclProtocolOptions {
  NcclWay ring, tree;
  std::optional<double> payload_s_per_byte;

  void fields(Fields& f) {
    f.object("ring", ring, "Around rings");
    f.object("tree", tree, "Up and down a double binary tree (all_reduce)");
    f.number(
         "payload", payload_s_per_byte,
         "Seconds per byte of the vector that kernels take beside the links: each rank reads and writes all of it, by few channels where it is small")
        .at_least(0)
        .by_rule("0: it is in the shares");
  }
};

struct NcclOptions {
  StackCosts costs;
  NcclAlgorithm algorithm = NcclAlgorithm::automatic;
  NcclProtocol protocol = NcclProtocol::automatic;
  NcclInside inside = NcclInside::nvlink;
  std::optional<int> compute_capability, channels, multiprocessors;
  std::optional<double> channel_Bps;
  double net_overhead_s = 1e-6;
  NcclProtocolOptions ll, ll128, simple;

  void fields(Fields& f) {
    f.choice(
        "algorithm", algorithm,
        {{"auto", NcclAlgorithm::automatic}, {"ring", NcclAlgorithm::ring}, {"tree", NcclAlgorithm::tree}},
        "NCCL_ALGO, of all_reduce: the fastest, or one; all else goes around rings");
    f.choice("protocol", protocol,
             {{"auto", NcclProtocol::automatic},
              {"ll", NcclProtocol::ll},
              {"ll128", NcclProtocol::ll128},
              {"simple", NcclProtocol::simple}},
             "NCCL_PROTO: the fastest that NCCL allows here, or one");
    f.choice(
        "inside", inside, {{"nvlink", NcclInside::nvlink}, {"pcie", NcclInside::pcie}},
        "What joins the GPUs of a node: its latencies hold where none are given, and over PCIe LL128 is not taken unless \"protocol\" names it");
    f.whole(
         "compute_capability", compute_capability,
         "The GPUs have this compute capability, times ten (V100: 70, A100: 80): below 70 LL128 is not taken unless \"protocol\" names it")
        .at_least(10)
        .by_rule("70 or more");
    f.whole("channels", channels, "NCCL_MAX_NCHANNELS: thread blocks of an operation")
        .at_least(1)
        .by_rule("as many as fill every link, which take nothing from computing");
    f.bandwidth("channel_bandwidth", channel_Bps,
                "Bytes per second that one channel passes on: channels too few do not fill a link")
        .by_rule("no bound");
    f.whole(
         "multiprocessors", multiprocessors,
         "The device has this many multiprocessors: channels take as many of them from computing, which is channels / (multiprocessors - channels) longer meanwhile")
        .at_least(1)
        .by_rule("\"slowdown\" alone says how much longer");
    f.time(
        "net_overhead", net_overhead_s,
        "NCCL_NET_OVERHEAD: of rings through several nodes no step inside a node takes less, by Simple three times that; 2 us on AMD's processors");
    f.object("ll", ll, "Protocol LL");
    f.object("ll128", ll128, "Protocol LL128");
    f.object("simple", simple, "Protocol Simple");
    costs.fields(f);
  }
};

/// Of the tuning model of NCCL 2.29.7: seconds, and shares of bandwidth.
struct NcclTuning {
  double launch_s, nvlink_s, pcie_s, net_s, share;
};
constexpr NcclTuning kRing[] = {{6.6e-6, 0.6e-6, 1.0e-6, 2.7e-6, 0.5},
                                {14.0e-6, 1.9e-6, 2.5e-6, 4.0e-6, 0.92},
                                {8.4e-6, 3.4e-6, 5.7e-6, 14.0e-6, 1}};
constexpr NcclTuning kTree[] = {{6.8e-6, 0.6e-6, 1.0e-6, 5.0e-6, 0.92 / 3.8},
                                {14.0e-6, 1.25e-6, 1.9e-6, 8.5e-6, 0.92 * 120 / 128},
                                {8.4e-6, 4.0e-6, 4.0e-6, 14.0e-6, 0.92}};
constexpr std::size_t kLl128 = 1, kSimple = 2;
constexpr double kTreeLl128Inside = 0.92 * 7 / 9;  // of a single node
// Of a tree whose nodes send and receive all by one GPU (NCCL_TOPO_PATTERN_TREE), as they do where they have
// only one (ncclTopoCompute in src/graph/search.cc).
constexpr double kTreeOneGpu = 0.85;
constexpr int kLeastLl128Capability = 70;

/// Whether NCCL takes LL128 where nobody asks for it: up to bridges of NVLink inside nodes, if there is an
/// inside. It wants PCIe switches and no more between GPU and NIC too, which a cluster does not say: so it is
/// taken to be.
bool allows_ll128(const NcclOptions& options, const StackContext& cluster) {
  return (options.inside == NcclInside::nvlink || cluster.gpus_per_node == 1) &&
         options.compute_capability.value_or(kLeastLl128Capability) >= kLeastLl128Capability;
}

/// Of a ring by protocol p. With one GPU per node nothing hides the network's latency: the tree's holds.
NcclTuning ring_tuning(std::size_t p, const NcclOptions& options, const StackContext& cluster) {
  NcclTuning tuning = kRing[p];
  if (cluster.gpus_per_node == 1) tuning.net_s = kTree[p].net_s;
  if (cluster.one_node()) return tuning;
  const double least_s = options.net_overhead_s * (p == kSimple ? 3 : 1);
  tuning.nvlink_s = std::max(tuning.nvlink_s, least_s);
  tuning.pcie_s = std::max(tuning.pcie_s, least_s);
  return tuning;
}

NcclTuning tree_tuning(std::size_t p, const StackContext& cluster) {
  NcclTuning tuning = kTree[p];
  if (p == kLl128 && cluster.one_node()) tuning.share = kTreeLl128Inside;
  if (cluster.gpus_per_node == 1) tuning.share *= kTreeOneGpu;
  return tuning;
}

Json nccl_way(const NcclOptions& options, const StackContext& cluster, const char* schedule,
              const NcclTuning& tuning, const NcclProtocolOptions& protocol, const NcclWay& given) {
  const double inside_s =
      given.latency_s.value_or(options.inside == NcclInside::nvlink ? tuning.nvlink_s : tuning.pcie_s);
  const double between_s = given.between_latency_s.value_or(tuning.net_s);
  const auto share_of = [&](double link_Bps) {
    const double share = given.share.value_or(tuning.share);
    if (!options.channels || !options.channel_Bps || link_Bps <= 0) return share;
    return std::min(share, *options.channels * *options.channel_Bps / link_Bps);
  };
  // A step between nodes takes at least what one inside does: no part of a latency is negative.
  Json way = {{"schedule", schedule},
              {"launch", given.launch_s.value_or(tuning.launch_s)},
              {"step_latency", inside_s},
              {"between_latency", std::max(0.0, between_s - inside_s)},
              {"pipelined", schedule == std::string_view("ring")},
              {"bandwidth_share", share_of(cluster.gpu_link_Bps)},
              {"between_share", share_of(cluster.nic_Bps)}};
  if (protocol.payload_s_per_byte) way["payload"] = *protocol.payload_s_per_byte;
  return way;
}

/// The ways of an operation, or of its rings alone.
Json nccl_policy(const NcclOptions& options, const StackContext& cluster, bool trees) {
  const NcclProtocolOptions* given[] = {&options.ll, &options.ll128, &options.simple};
  Json ways = Json::array();
  for (std::size_t p = 0; p < 3; ++p) {
    if (options.protocol == NcclProtocol::automatic ? p == kLl128 && !allows_ll128(options, cluster)
                                                    : static_cast<std::size_t>(options.protocol) != p + 1)
      continue;
    if (!trees || options.algorithm != NcclAlgorithm::tree)
      ways.push_back(
          nccl_way(options, cluster, "ring", ring_tuning(p, options, cluster), *given[p], given[p]->ring));
    if (trees && options.algorithm != NcclAlgorithm::ring)
      ways.push_back(nccl_way(options, cluster, "double_binary_tree", tree_tuning(p, cluster), *given[p],
                              given[p]->tree));
  }
  return {{"fastest", std::move(ways)}};
}

Stack make_nccl(const NcclOptions& options, const StackContext& cluster) {
  Stack stack{.costs = options.costs};
  if (options.multiprocessors) {
    if (!options.channels || *options.channels >= *options.multiprocessors)
      reject("multiprocessors",
             options.channels ? "leaves none for computing beside the channels"
                              : "is of no use without \"channels\"",
             "Give \"channels\" too, fewer than multiprocessors");
    if (options.costs.slowdown)
      reject("slowdown", "is said twice: it follows from \"channels\" and \"multiprocessors\"",
             "Leave out one of them");
    stack.costs.slowdown =
        static_cast<double>(*options.channels) / (*options.multiprocessors - *options.channels);
  }
  if (options.channel_Bps && !options.channels)
    reject("channel_bandwidth", "is of no use without \"channels\"", "Give \"channels\" too");
  stack.collectives = {{"all_reduce", nccl_policy(options, cluster, true)},
                       {"reduce_scatter", nccl_policy(options, cluster, false)},
                       {"all_gather", nccl_policy(options, cluster, false)}};
  return stack;
}

}  // namespace

std::vector<StackPlugin> nccl() {
  return {{{.name = "nccl",
            .summary = "kernels on the device: channels, ring or tree, LL, LL128 or Simple, by size",
            .citation = "Hu et al., arXiv:2507.04786; NCCL 2.29.7, src/graph/tuning.cc"},
           make_nccl}};
}

}  // namespace simsgd::stacks

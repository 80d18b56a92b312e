// nccl: a kernel per operation, whose channels (one thread block each) pass the vector on around rings, or up
// and down a double binary tree, by one of three protocols: LL sends a flag beside every 4 bytes, LL128 8
// bytes of flags in every 128, Simple none, but whole slices behind a memory fence; or the switch of a node
// reduces. The library takes what its tuning model estimates to be the fastest (nccl_estimate.hpp), which
// then takes what it takes on this cluster:
//   ring  2 (P-N) latency + 2 (N-1) latency' + 2 (P-1)/P m / (share B)
//   tree  2 (g-1) latency + 2 log2 N latency' + 2 m / (share B)
//   nvls  latency + (1 + 1/P) m / (efficiency B')
// each + launch + m payload; latency inside nodes, latency' between them and share are those of algorithm and
// protocol (N nodes of g ranks, P = N g, B of the link, B' what NCCL takes NVLink for). Several NICs of a
// node share a ring's and a tree's messages. LL128 is not taken over PCIe.
//
// By Simple kernels take time beside the links (payload): an all-reduce reads the vector and writes it, so of
// its 2m bytes an all-gather, which reads one part, and a reduce-scatter, which writes one, have (1 + 1/P) m:
// half of the payload, and as much of a part.
//
// By LL blocks of 512 threads pass 8 bytes each. A kernel is a line of primitives, one more than there are
// messages of a block (2P - 1 of an all-reduce, P of the others), and each takes what its block takes: m/P /
// (share B) where all C channels have work, and where they have not, since NCCL gives each at least 4 KiB a
// primitive (NCCL_LL_THREAD_THRESHOLD), what such a block takes: C 4 KiB / (share B). Halfway to that fewer
// threads, and channels, take part. scenarios/calibration/nccl_devices_*.json judge both.
//
// Hu et al., "Demystifying NCCL", arXiv:2507.04786 (channels, protocols, primitives); NCCL 2.29.7,
// src/graph/tuning.cc (latencies, shares), src/enqueue.cc (parts up to 16 KiB to a peer by LL). Its latencies
// are whole steps: a cluster that uses them gives its own links only what a cable adds.
// Test: tests/stacks/nccl.cpp.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/stacks/nccl_estimate.hpp"
#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

namespace {

enum class NcclInside : std::uint8_t { nvlink, pcie };

/// What a protocol takes by one algorithm.
struct NcclWay {
  std::optional<double> launch_s, latency_s, between_latency_s, share;

  void fields(Fields& f) {
    f.time("launch", launch_s, "An operation takes this long, whatever its size")
        .by_rule("as NCCL's tuning model has it");
    f.time("latency", latency_s, "A step inside a node takes this long")
        .by_rule("as NCCL's tuning model has it");
    f.time("between_latency", between_latency_s, "A step between nodes takes this long")
        .by_rule("as NCCL's tuning model has it");
    f.number("share", share, "Share of a link's bandwidth that the payload reaches")
        .above(0)
        .at_most(1)
        .by_rule("as NCCL's tuning model has it");
  }
};

struct NcclProtocolOptions {
  NcclWay ring, tree;
  std::optional<double> payload_s_per_byte, filled_launch_s;

  void fields(Fields& f) {
    f.object("ring", ring, "A ring has these numbers");
    f.object("tree", tree, "A double binary tree, which all_reduce goes up and down, has these numbers");
    f.number(
         "payload", payload_s_per_byte,
         "Time of the kernels for each byte of the vector, in addition to the links: each rank reads and writes all of it, by few channels if it is small")
        .at_least(0)
        .by_rule("0: it is in the shares");
    f.time(
         "filled_launch", filled_launch_s,
         "An operation whose messages fill the threads of several blocks (8 KiB with LL) takes this much longer; in proportion below. With it a step takes the time of one block, and \"share\" of the link is that of all channels")
        .by_rule("blocks take what the share says");
  }
};

struct NcclOptions {
  StackCosts costs;
  std::optional<NcclAlgorithm> algorithm;
  std::optional<NcclProtocol> protocol;
  bool by_estimate = true;
  std::optional<bool> nvls;
  std::optional<double> taken_Bps;
  bool amd = false;
  NcclInside inside = NcclInside::nvlink;
  std::optional<int> compute_capability, channels, multiprocessors;
  std::optional<double> channel_Bps;
  double net_overhead_s = 1e-6;
  NcclProtocolOptions ll, ll128, simple;

  void fields(Fields& f) {
    f.choice(
         "algorithm", algorithm,
         {{"ring", NcclAlgorithm::ring}, {"tree", NcclAlgorithm::tree}, {"nvls", NcclAlgorithm::nvls}},
         "NCCL_ALGO: all_reduce takes this algorithm (nvls: NVLSTree among several nodes), and everything else goes around rings")
        .by_rule("NCCL's choice");
    f.choice("protocol", protocol,
             {{"ll", NcclProtocol::ll}, {"ll128", NcclProtocol::ll128}, {"simple", NcclProtocol::simple}},
             "NCCL_PROTO: all operations take this protocol")
        .by_rule("NCCL's choice of those that it allows here");
    f.choice(
        "choice", by_estimate, {{"nccl", true}, {"fastest", false}},
        "How algorithm and protocol are chosen: those that NCCL's tuning model estimates to be fastest, or those that are fastest on this cluster");
    f.flag("nvls", nvls, "Whether the switch of a node reduces (NCCL_NVLS_ENABLE), for types that it can add")
        .by_rule("from compute capability 9.0 on, with NVLink");
    f.bandwidth("taken_for", taken_Bps,
                "NCCL's search assumes this bandwidth for a GPU's links inside a node")
        .by_rule(
            "as NCCL's tables have NVLink of the compute capability; over PCIe the gpu_link's bandwidth");
    f.flag("amd", amd,
           "Whether the processors are AMD's, for which NCCL expects less bandwidth of LL between nodes");
    f.choice(
        "inside", inside, {{"nvlink", NcclInside::nvlink}, {"pcie", NcclInside::pcie}},
        "What joins the GPUs of a node. It gives the latencies that are not set, and over PCIe LL128 is taken only if \"protocol\" names it");
    f.whole(
         "compute_capability", compute_capability,
         "Compute capability of the GPUs, times ten (V100: 70, A100: 80, H100: 90, B200: 100). NCCL's tables depend on it: below 70, LL128 is taken only if \"protocol\" names it")
        .at_least(10)
        .by_rule("the device's, else 80");
    f.whole("channels", channels, "An operation uses at most this many thread blocks (NCCL_MAX_NCHANNELS)")
        .at_least(1)
        .by_rule("as many as fill every link, which take nothing from computing");
    f.bandwidth("channel_bandwidth", channel_Bps,
                "One channel has this bandwidth; too few channels do not fill a link")
        .by_rule("no bound");
    f.whole(
         "multiprocessors", multiprocessors,
         "The device has this many multiprocessors. Each channel takes one of them from computing, which meanwhile takes channels / (multiprocessors - channels) longer")
        .at_least(1)
        .by_rule("\"slowdown\" alone says how much longer");
    f.time(
        "net_overhead", net_overhead_s,
        "NCCL_NET_OVERHEAD: least time of a step inside a node, in rings through several nodes (with Simple three times that); 2 us on AMD's processors");
    f.object("ll", ll, "The protocol LL has these numbers");
    f.object("ll128", ll128, "The protocol LL128 has these numbers");
    f.object("simple", simple, "The protocol Simple has these numbers");
    costs.fields(f);
  }
};

/// Shares of bandwidth by protocol, NCCL 2.29.7.
constexpr double kRingShare[] = {0.5, 0.92, 1};
constexpr double kTreeShare[] = {0.92 / 3.8, 0.92 * 120 / 128, 0.92};
constexpr NcclProtocol kProtocols[] = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};
constexpr const char* kProtocolNames[] = {"ll", "ll128", "simple"};
constexpr std::size_t kLl128 = 1, kSimple = 2;
constexpr double kTreeLl128Inside = 0.92 * 7 / 9;  // of a single node
// Of a tree whose nodes send and receive all by one GPU (NCCL_TOPO_PATTERN_TREE), as they do where they have
// only one (ncclTopoCompute in src/graph/search.cc).
constexpr double kTreeOneGpu = 0.85;
constexpr double kPatShare = 0.75;
constexpr int kLeastLl128Capability = 70, kCapability = 80, kLeastNvlsCapability = 90;
constexpr double kBlock_bytes = 4096;               // 512 threads of 8 bytes
constexpr double kFilled_bytes = 2 * kBlock_bytes;  // from two blocks on all take as long
constexpr double kPeerByLl_bytes = 16384;           // ncclParamP2pLLThreshold

/// What a way has where nothing is given.
struct NcclDefaults {
  double launch_s, inside_s, between_s, share;
};

int capability(const NcclOptions& options, const StackContext& cluster) {
  return options.compute_capability.value_or(cluster.compute_capability > 0 ? cluster.compute_capability
                                                                            : kCapability);
}

/// Whether NCCL takes LL128 where nobody asks for it: up to bridges of NVLink inside nodes, if there is an
/// inside. It wants PCIe switches and no more between GPU and NIC too, which a cluster does not say: so it is
/// taken to be.
bool allows_ll128(const NcclOptions& options, const StackContext& cluster) {
  return (options.inside == NcclInside::nvlink || cluster.gpus_per_node == 1) &&
         capability(options, cluster) >= kLeastLl128Capability;
}

bool has_nvls(const NcclOptions& options, const StackContext& cluster) {
  return cluster.gpus_per_node != 1 &&
         options.nvls.value_or(options.inside == NcclInside::nvlink &&
                               capability(options, cluster) >= kLeastNvlsCapability);
}

NcclMachine machine_of(const NcclOptions& options, const StackContext& cluster) {
  NcclMachine machine{.compute_capability = capability(options, cluster),
                      .nvlink = options.inside == NcclInside::nvlink,
                      .inside_Bps = options.taken_Bps,
                      .nics = cluster.nics,
                      .amd = options.amd,
                      .net_overhead_s = options.net_overhead_s};
  if (cluster.nic_Bps > 0) machine.nic_Bps = cluster.nic_Bps;
  if (!machine.inside_Bps && !machine.nvlink && cluster.gpu_link_Bps > 0)
    machine.inside_Bps = cluster.gpu_link_Bps;
  return machine;
}

/// Of rings and trees by protocol p. With one GPU per node nothing hides the network's latency from a ring:
/// the tree's holds.
NcclDefaults defaults_of(NcclAlgorithm algorithm, std::size_t p, const NcclOptions& options,
                         const StackContext& cluster) {
  const bool ring = algorithm == NcclAlgorithm::ring;
  const NcclTuning& tuning = nccl_tuning(algorithm, kProtocols[p]);
  NcclDefaults made{tuning.launch_s, options.inside == NcclInside::nvlink ? tuning.nvlink_s : tuning.pcie_s,
                    tuning.net_s, (ring ? kRingShare : kTreeShare)[p]};
  if (ring && cluster.gpus_per_node == 1)
    made.between_s = nccl_tuning(NcclAlgorithm::tree, kProtocols[p]).net_s;
  if (ring && !cluster.one_node())
    made.inside_s = std::max(made.inside_s, options.net_overhead_s * (p == kSimple ? 3 : 1));
  if (!ring && p == kLl128 && cluster.one_node()) made.share = kTreeLl128Inside;
  if (!ring && cluster.gpus_per_node == 1) made.share *= kTreeOneGpu;
  return made;
}

/// A way, without its protocol's passes over the vector.
Json plain_way(const NcclOptions& options, const StackContext& cluster, const char* schedule, std::size_t p,
               const NcclDefaults& defaults, const NcclWay& given) {
  const double inside_s = given.latency_s.value_or(defaults.inside_s);
  const auto share_of = [&](double link_Bps) {
    const double share = given.share.value_or(defaults.share);
    if (!options.channels || !options.channel_Bps || link_Bps <= 0) return share;
    return std::min(share, *options.channels * *options.channel_Bps / link_Bps);
  };
  // A step between nodes takes at least what one inside does: no part of a latency is negative.
  return {{"schedule", schedule},
          {"protocol", kProtocolNames[p]},
          {"launch", given.launch_s.value_or(defaults.launch_s)},
          {"step_latency", inside_s},
          {"between_latency", std::max(0.0, given.between_latency_s.value_or(defaults.between_s) - inside_s)},
          {"pipelined", schedule == std::string_view("ring")},
          {"bandwidth_share", share_of(cluster.gpu_link_Bps)},
          {"between_share", share_of(cluster.nic_Bps)},
          {"nics", cluster.nics}};
}

/// Of a message inside a node, or between nodes of one GPU.
double s_per_byte(const Json& way, const StackContext& cluster) {
  const bool inside = cluster.gpu_link_Bps > 0;
  const double link_Bps = inside ? cluster.gpu_link_Bps : cluster.nic_Bps;
  return link_Bps > 0 ? 1 / (way[inside ? "bandwidth_share" : "between_share"].get<double>() * link_Bps) : 0;
}

/// Adds what its kernels take beside the links.
void add_kernels(const NcclOptions& options, const NcclProtocolOptions& protocol, const StackContext& cluster,
                 bool reduces_all, Json& way) {
  double payload = protocol.payload_s_per_byte.value_or(0), part = 0;
  if (!reduces_all) part = payload /= 2;
  if (protocol.filled_launch_s) {
    const double byte_s = s_per_byte(way, cluster);
    way["filled_launch"] = *protocol.filled_launch_s;
    way["filled_message"] = nccl_channels(machine_of(options, cluster)) * kBlock_bytes * byte_s;
    way["filled_bytes"] = kFilled_bytes;
    // The last primitive only receives. Over PCIe what it waits for is the link, not a block.
    if (options.inside == NcclInside::nvlink) part += byte_s;
  }
  if (payload > 0) way["payload"] = payload;
  if (part > 0) way["part"] = part;
}

/// Reduction in the switch, which NCCL does by Simple alone: what NCCL's tables have, and no number that was
/// measured here. Latencies inside and of a tree's levels are once for all pieces.
Json nvls_way(const NcclOptions& options, const StackContext& cluster) {
  const double reduced_Bps = nccl_nvls_Bps(machine_of(options, cluster));
  const bool known = reduced_Bps > 0 && cluster.gpu_link_Bps > 0;
  const NcclDefaults defaults{nccl_tuning(NcclAlgorithm::nvls, NcclProtocol::simple).nvlink_s, 0,
                              nccl_tuning(NcclAlgorithm::nvls_tree, NcclProtocol::simple).net_s,
                              known ? std::min(1.0, reduced_Bps / cluster.gpu_link_Bps) : 1};
  Json way = plain_way(options, cluster, "nvls", kSimple, defaults, {});
  way["between_share"] = 1;
  way["nics"] = 1;  // each GPU's part goes through its own
  return way;
}

/// Whether an algorithm of this name is asked for, or any.
bool takes(const NcclOptions& options, NcclAlgorithm algorithm) {
  return !options.algorithm || *options.algorithm == algorithm;
}

/// The ways of all_reduce; of the others, rings and trees of all blocks at once.
Json nccl_policy(const NcclOptions& options, const StackContext& cluster, bool reduces_all) {
  const NcclProtocolOptions* given[] = {&options.ll, &options.ll128, &options.simple};
  Json ways = Json::array();
  const auto add = [&](NcclAlgorithm algorithm, const char* schedule, std::size_t p, const NcclWay& way) {
    ways.push_back(
        plain_way(options, cluster, schedule, p, defaults_of(algorithm, p, options, cluster), way));
    add_kernels(options, *given[p], cluster, reduces_all, ways.back());
  };
  for (std::size_t p = 0; p < 3; ++p) {
    if (options.protocol ? *options.protocol != kProtocols[p]
                         : p == kLl128 && !allows_ll128(options, cluster))
      continue;
    if (!reduces_all || takes(options, NcclAlgorithm::ring))
      add(NcclAlgorithm::ring, "ring", p, given[p]->ring);
    if (reduces_all && takes(options, NcclAlgorithm::tree))
      add(NcclAlgorithm::tree, "double_binary_tree", p, given[p]->tree);
    if (p != kSimple) continue;
    if (!reduces_all && cluster.gpus_per_node == 1 && !options.algorithm) {
      const NcclTuning& tuning = nccl_tuning(NcclAlgorithm::pat, NcclProtocol::simple);
      Json pat =
          plain_way(options, cluster, "pat", p,
                    {tuning.launch_s, 0,
                     nccl_tuning(NcclAlgorithm::tree, kProtocols[p]).net_s / kNcclPatLevels, kPatShare},
                    {});
      pat["rank_latency"] = kNcclPatRank_s;
      ways.push_back(std::move(pat));
    }
    if (reduces_all && takes(options, NcclAlgorithm::nvls) &&
        (options.algorithm || has_nvls(options, cluster)))
      ways.push_back(nvls_way(options, cluster));
  }
  if (!options.by_estimate || ways.size() < 2) return {{"fastest", std::move(ways)}};
  NcclMachine machine = machine_of(options, cluster);
  Json by = Json::object();
  Fields fields;
  machine.fields(fields);
  fields.write_missing(by);
  return {{"chosen", std::move(ways)}, {"by", std::move(by)}};
}

/// A send and a receive with every peer: small parts by LL, others by Simple, whose channels of all peers
/// begin at once and so pay LL's latency for a peer and Simple's once.
Json exchange_policy(const NcclOptions& options, const StackContext& cluster) {
  const NcclDefaults ll = defaults_of(NcclAlgorithm::ring, 0, options, cluster),
                     simple = defaults_of(NcclAlgorithm::ring, kSimple, options, cluster);
  Json small = plain_way(options, cluster, "pairwise", 0, ll, options.ll.ring);
  small["up_to_part"] = kPeerByLl_bytes;
  NcclWay peer = options.ll.ring;
  peer.share = options.simple.ring.share;
  peer.launch_s = simple.launch_s + simple.inside_s;
  Json large = plain_way(options, cluster, "pairwise", kSimple,
                         {simple.launch_s, ll.inside_s, ll.between_s, simple.share}, peer);
  if (options.ll.payload_s_per_byte) small["payload"] = *options.ll.payload_s_per_byte;
  if (options.ll.filled_launch_s) {
    // One channel for each peer, all of them at once.
    small["part"] = nccl_channels(machine_of(options, cluster)) * s_per_byte(small, cluster);
    small["filled_launch"] = *options.ll.filled_launch_s;
    small["filled_bytes"] = kFilled_bytes;
  }
  if (options.simple.payload_s_per_byte) large["payload"] = *options.simple.payload_s_per_byte;
  // Each peer has channels, and so a NIC, of its own.
  small["nics"] = large["nics"] = 1;
  return Json::array({std::move(small), std::move(large)});
}

Stack make_nccl(const NcclOptions& options, const StackContext& cluster) {
  Stack stack{.costs = options.costs};
  if (options.multiprocessors) {
    if (!options.channels || *options.channels >= *options.multiprocessors)
      reject("multiprocessors",
             options.channels ? "leaves no multiprocessor for computing, because the channels take all"
                              : "has no effect without \"channels\"",
             "Give \"channels\" too, fewer than multiprocessors");
    if (options.costs.slowdown)
      reject("slowdown", "is given twice: it follows from \"channels\" and \"multiprocessors\"",
             "Leave out one of them");
    stack.costs.slowdown =
        static_cast<double>(*options.channels) / (*options.multiprocessors - *options.channels);
  }
  if (options.channel_Bps && !options.channels)
    reject("channel_bandwidth", "has no effect without \"channels\"", "Give \"channels\" too");
  stack.collectives = {{"all_reduce", nccl_policy(options, cluster, true)},
                       {"reduce_scatter", nccl_policy(options, cluster, false)},
                       {"all_gather", nccl_policy(options, cluster, false)},
                       {"all_to_all", exchange_policy(options, cluster)}};
  return stack;
}

}  // namespace

std::vector<StackPlugin> nccl() {
  return {
      {{.name = "nccl",
        .summary = "kernels on the device: rings, trees or the switch, LL, LL128 or Simple, as NCCL chooses",
        .citation = "Hu et al., arXiv:2507.04786; NCCL 2.29.7, src/graph/tuning.cc"},
       make_nccl}};
}

}  // namespace simsgd::stacks

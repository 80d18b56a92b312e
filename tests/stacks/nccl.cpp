// The defaults of the stack "nccl" against the tables of NCCL 2.29.7, src/graph/tuning.cc, in its own order:
// by protocol LL, LL128, Simple; in microseconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"

namespace simsgd::test::stacks_nccl {

using doctest::Approx;

namespace {

constexpr const char* kProtocols[] = {"ll", "ll128", "simple"};
constexpr int kTree = 0, kRing = 1;
// ncclTunerConstantsDefaults: baseLatencies; hwLatencies of NVLINK, PCI, NET.
constexpr double kBase[2][3] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr double kNvlink[2][3] = {{.6, 1.25, 4.0}, {.6, 1.9, 3.4}};
constexpr double kPci[2][3] = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr double kNet[2][3] = {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}};

/// The one way of all_reduce by this algorithm and protocol.
CollectiveWay way_of(int algorithm, int protocol, const char* inside, const StackContext& cluster) {
  const Stack stack = make_stack({{"name", "nccl"},
                                  {"algorithm", algorithm == kTree ? "tree" : "ring"},
                                  {"protocol", kProtocols[protocol]},
                                  {"inside", inside}},
                                 cluster);
  for (const auto& [operation, policy] : stack.collectives)
    if (operation == "all_reduce") return read_policy(CollectiveOp::all_reduce, policy).ways.at(0);
  return {};
}

}  // namespace

TEST_CASE("launches and latencies of steps are the tables' of NCCL, inside nodes and between them") {
  const StackContext nodes{.gpu_link_Bps = 1e11, .nic_Bps = 1e10, .workers = 16, .gpus_per_node = 8};
  const StackContext node{.gpu_link_Bps = 1e11, .nic_Bps = 1e10, .workers = 8, .gpus_per_node = 8};
  for (const int algorithm : {kTree, kRing})
    for (int protocol = 0; protocol < 3; ++protocol)
      for (const bool nvlink : {true, false}) {
        CAPTURE(algorithm);
        CAPTURE(kProtocols[protocol]);
        const double inside = (nvlink ? kNvlink : kPci)[algorithm][protocol];
        const CollectiveWay alone = way_of(algorithm, protocol, nvlink ? "nvlink" : "pcie", node);
        CHECK(alone.costs.launch_s == Approx(kBase[algorithm][protocol] * 1e-6).epsilon(1e-12));
        CHECK(alone.costs.step_latency_s == Approx(inside * 1e-6).epsilon(1e-12));
        const CollectiveWay among = way_of(algorithm, protocol, nvlink ? "nvlink" : "pcie", nodes);
        // getNetOverhead: 1 us on Intel, by Simple three times; of rings.
        const double least = algorithm == kRing ? (protocol == 2 ? 3.0 : 1.0) : 0.0;
        CHECK(among.costs.step_latency_s == Approx(std::max(inside, least) * 1e-6).epsilon(1e-12));
        CHECK(among.costs.step_latency_s + among.costs.between_latency_s ==
              Approx(kNet[algorithm][protocol] * 1e-6).epsilon(1e-12));
      }
}

TEST_CASE("with one GPU per node a ring's steps take the tree's latency") {
  const StackContext cluster{.gpu_link_Bps = 0, .nic_Bps = 1e10, .workers = 16, .gpus_per_node = 1};
  for (int protocol = 0; protocol < 3; ++protocol) {
    const LibraryCosts costs = way_of(kRing, protocol, "nvlink", cluster).costs;
    CHECK(costs.step_latency_s + costs.between_latency_s ==
          Approx(kNet[kTree][protocol] * 1e-6).epsilon(1e-12));
  }
}

TEST_CASE("shares of bandwidth are the model's; a tree by LL128 has 7/9 of a single node") {
  const StackContext nodes{.gpu_link_Bps = 1e11, .nic_Bps = 1e10, .workers = 16, .gpus_per_node = 8};
  const StackContext node{.gpu_link_Bps = 1e11, .nic_Bps = 1e10, .workers = 8, .gpus_per_node = 8};
  const double ring[] = {.5, .92, 1}, tree[] = {.92 / 3.8, .92 * 120 / 128, .92};
  for (int protocol = 0; protocol < 3; ++protocol) {
    CHECK(way_of(kRing, protocol, "nvlink", nodes).costs.bandwidth_share ==
          Approx(ring[protocol]).epsilon(1e-12));
    CHECK(way_of(kTree, protocol, "nvlink", nodes).costs.between_share ==
          Approx(tree[protocol]).epsilon(1e-12));
  }
  CHECK(way_of(kTree, 1, "nvlink", node).costs.bandwidth_share == Approx(.92 * 7 / 9).epsilon(1e-12));
}

}  // namespace simsgd::test::stacks_nccl

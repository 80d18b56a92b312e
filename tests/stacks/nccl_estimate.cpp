// NCCL's own estimate against its source, read again: ncclTopoTuneModel and ncclTopoGetAlgoTime of
// NCCL 2.29.7 in its own units (GB/s, us) and order of algorithms, for what the search of its graphs finds on
// machines whose links it knows. And sizes at which NCCL changes its mind, by hand.
#include "sim/stacks/nccl_estimate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace simsgd::test::stacks_nccl_estimate {

using doctest::Approx;
using A = NcclAlgorithm;
using Op = CollectiveOp;
using P = NcclProtocol;

namespace {

/// A node of GPUs as the search sees it: channels and speeds inside, and of NVLS with 4 and 8 heads.
struct Node {
  int capability, index;  // of the tables: Volta, Ampere, Hopper, Blackwell
  int channels;
  double speed, nvls_speed_4, nvls_speed_8;
};
constexpr Node kV100{70, 0, 6, 20, 0, 0}, kA100{80, 1, 12, 20, 0, 0}, kH100{90, 2, 12, 30, 60, 40},
    kB200{100, 3, 16, 45, 90, 80};

constexpr double kLlMax[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
constexpr double kRingLl128[4] = {20, 20, 36.7, 40};
constexpr double kTreeLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kNvlsTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
constexpr double kNvlsEfficiency[4] = {0, 0, .85, .74};
constexpr double kBase[2][3] = {{6.8, 14, 8.4}, {6.6, 14, 8.4}};  // tree, ring
constexpr double kNvlink[2][3] = {{.6, 1.25, 4}, {.6, 1.9, 3.4}};
constexpr double kNet[2][3] = {{5, 8.5, 14}, {2.7, 4, 14}};
constexpr double kCorrection[3][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/// Of all_reduce on nodes of 4 or 8 GPUs with a NIC each of `nic` GB/s; AMD's processors; 0: not done so.
double all_reduce_us(const Node& node, int nodes, int gpus, double nic, A algorithm, int p, double bytes) {
  const int ranks = nodes * gpus, nsteps = 2 * (ranks - 1), inter = 2 * (nodes - 1),
            scale = std::min(nodes, 3) - 1;
  const int channels = nodes == 1 ? node.channels : gpus;
  const double inside = node.channels * node.speed, ring = nodes == 1 ? inside : std::min(inside, gpus * nic);
  const double ll = nodes == 1 ? kLlMax[node.index][0] : kLlMax[1][scale];
  const int log_size = bytes < 64 ? -1 : static_cast<int>(std::log2(std::floor(bytes / 64)));
  double bus = ring, latency = 0;
  if (algorithm == A::ring) {
    if (p == 0) bus = std::min(ll, ring * .5);
    if (p == 1) bus = std::min(ring * .92, channels * kRingLl128[node.index]);
    double intra = kNvlink[1][p];
    if (nodes > 1) intra = std::max(intra, p == 2 ? 6.0 : 2.0);
    latency = kBase[1][p] + (nsteps - inter) * intra + inter * kNet[1][p];
    if (p == 2 && nodes > 1 && bytes / (channels * ranks) >= 64) latency *= node.capability < 80 ? 1.9 : 1.4;
    return latency + bytes / (1000 * bus * ranks / nsteps);
  }
  if (algorithm == A::tree) {
    if (nodes == 2) bus = std::min(inside, 2 * gpus * nic);
    bus = std::min(bus * .92, channels * kTree[node.index][scale]);
    if (p == 0) bus = std::min(bus / 3.8, ll);
    if (p == 1)
      bus = std::min(bus * (nodes == 1 ? 7.0 / 9 : 120.0 / 128), channels * kTreeLl128[node.index][scale]);
    if (log_size >= 0 && log_size < 23) bus *= kCorrection[p][log_size];
    latency = kBase[0][p] + 2 * ((gpus - 1) * kNvlink[0][p] + std::floor(std::log2(nodes)) * kNet[0][p]);
    return latency + bytes / (1000 * bus * .5);
  }
  const bool tree = algorithm == A::nvls_tree;
  if (p != 2 || tree == (nodes == 1) || kNvlsEfficiency[node.index] == 0) return 0;
  double each = (gpus == 4 ? node.nvls_speed_4 : node.nvls_speed_8) * kNvlsEfficiency[node.index] *
                (gpus - 1) / gpus * 2;
  if (tree) each = std::min({each, nic * (nodes == 2 ? 2 : 1), kNvlsTree[node.index][scale]});
  bus = gpus * each;
  if (tree && node.capability >= 100 && log_size >= 0 && log_size < 24) bus *= kCorrection[p][log_size];
  latency = 25 + (tree ? 2 * std::floor(std::log2(nodes)) * 20.9 : 0);
  return latency + bytes / (1000 * bus * ranks / nsteps);
}

NcclMachine machine_of(const Node& node, double nic, int gpus) {
  return {.compute_capability = node.capability,
          .nic_Bps = nic * 1e9,
          .nics = gpus,
          .amd = true,
          .net_overhead_s = 2e-6};
}

/// Which protocol NCCL takes around rings of one node, where it takes rings.
P protocol_of(int capability, Op op, int ranks, double bytes) {
  const NcclMachine machine{.compute_capability = capability};
  P best = P::ll;
  double least_s = INFINITY;
  for (const P protocol : {P::ll, P::ll128, P::simple})
    if (const auto time_s = nccl_estimate_s(machine, op, A::ring, protocol, {ranks, 1}, bytes);
        *time_s < least_s) {
      least_s = *time_s;
      best = protocol;
    }
  return best;
}

constexpr double kMiB = 1048576;

}  // namespace

TEST_CASE("all_reduce: every estimate is that of NCCL's source") {
  for (const Node& node : {kV100, kA100, kH100, kB200})
    for (const int nodes : {1, 2, 4, 16})
      for (const int gpus : {4, 8})
        for (const double nic : {12.0, 24.0, 48.0})
          for (const A algorithm : {A::ring, A::tree, A::nvls, A::nvls_tree})
            for (int p = 0; p < 3; ++p)
              for (const double bytes : {8.0, 4096.0, 131072.0, kMiB, 100e6, 2e9}) {
                CAPTURE(node.capability);
                CAPTURE(nodes);
                CAPTURE(gpus);
                CAPTURE(nic);
                CAPTURE(static_cast<int>(algorithm));
                CAPTURE(p);
                CAPTURE(bytes);
                const double expected_us = all_reduce_us(node, nodes, gpus, nic, algorithm, p, bytes);
                const auto found = nccl_estimate_s(machine_of(node, nic, gpus), Op::all_reduce, algorithm,
                                                   static_cast<P>(p), {nodes * gpus, nodes}, bytes);
                REQUIRE(found.has_value() == (expected_us > 0));
                if (found) CHECK(*found * 1e6 == Approx(expected_us).epsilon(1e-6));
              }
}

TEST_CASE("what NCCL does not do it does not estimate") {
  const NcclMachine h100{.compute_capability = 90, .nic_Bps = 48e9, .nics = 8};
  const auto does = [&](Op op, A algorithm, P protocol, NcclGroup group) {
    return nccl_estimate_s(h100, op, algorithm, protocol, group, 1e6).has_value();
  };
  CHECK(does(Op::all_reduce, A::nvls, P::simple, {8, 1}));
  CHECK_FALSE(does(Op::all_reduce, A::nvls, P::simple, {2, 1}));
  CHECK_FALSE(does(Op::all_reduce, A::nvls, P::simple, {16, 2}));
  CHECK(does(Op::all_reduce, A::nvls_tree, P::simple, {16, 2}));
  CHECK_FALSE(does(Op::all_reduce, A::nvls_tree, P::simple, {8, 1}));
  CHECK_FALSE(does(Op::all_gather, A::tree, P::ll, {8, 1}));
  CHECK(does(Op::all_gather, A::pat, P::simple, {8, 8}));
  CHECK_FALSE(does(Op::all_gather, A::pat, P::simple, {8, 1}));
  CHECK_FALSE(does(Op::all_reduce, A::pat, P::simple, {8, 8}));
  CHECK_FALSE(does(Op::all_to_all, A::ring, P::ll, {8, 1}));
}

TEST_CASE("protocols change at the sizes at which the times of A100, H100 and B200 jump") {
  // Two A100: LL 7.8 us + m / 87.7 GB/s, Simple 15.2 us + m / 240 GB/s: equal at 1.02 MB.
  CHECK(protocol_of(80, Op::all_reduce, 2, kMiB / 2) == P::ll);
  CHECK(protocol_of(80, Op::all_reduce, 2, kMiB) == P::simple);
  // Four: LL128 25.4 us + m / 147 GB/s between the two, from 1.47 to 6.3 MB.
  CHECK(protocol_of(80, Op::all_reduce, 4, kMiB) == P::ll);
  CHECK(protocol_of(80, Op::all_reduce, 4, 2 * kMiB) == P::ll128);
  CHECK(protocol_of(80, Op::all_reduce, 4, 8 * kMiB) == P::simple);
  // all_gather of four: LL 8.4 us + m / 117 GB/s, Simple 18.6 us + m / 320 GB/s: 1.88 MB.
  CHECK(protocol_of(80, Op::all_gather, 4, kMiB) == P::ll);
  CHECK(protocol_of(80, Op::all_gather, 4, 2 * kMiB) == P::simple);
  // Two H100: 7.4 us / (1/141 - 1/360) = 1.72 MB; two B200: 7.4 us / (1/282 - 1/720) = 3.43 MB.
  CHECK(protocol_of(90, Op::all_reduce, 2, kMiB) == P::ll);
  CHECK(protocol_of(90, Op::all_reduce, 2, 2 * kMiB) == P::simple);
  CHECK(protocol_of(100, Op::all_reduce, 2, 2 * kMiB) == P::ll);
  CHECK(protocol_of(100, Op::all_reduce, 2, 4 * kMiB) == P::simple);
}

}  // namespace simsgd::test::stacks_nccl_estimate

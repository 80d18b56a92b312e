// The defaults of the stack "nccl" against the tables of NCCL 2.29.7, src/graph/tuning.cc, in its own order:
// by protocol LL, LL128, Simple; in microseconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"
#include "tests/collectives/support.hpp"

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

/// How the stack with these options does an operation.
CollectivePolicy policy_of(CollectiveOp op, Json options, const StackContext& cluster) {
  options["name"] = "nccl";
  for (const auto& [operation, policy] : make_stack(options, cluster).collectives)
    if (operation == op_name(op)) return read_policy(op, policy);
  return {};
}

Json options_of(int algorithm, int protocol, const char* inside) {
  return {{"algorithm", algorithm == kTree ? "tree" : "ring"},
          {"protocol", kProtocols[protocol]},
          {"inside", inside}};
}

/// The one way of all_reduce by this algorithm and protocol.
CollectiveWay way_of(int algorithm, int protocol, const char* inside, const StackContext& cluster) {
  return policy_of(CollectiveOp::all_reduce, options_of(algorithm, protocol, inside), cluster).ways.at(0);
}

/// Nodes whose links have no latency of their own.
struct Machine {
  int nodes, gpus;
  double link_Bps, nic_Bps;

  int ranks() const { return nodes * gpus; }
  StackContext context() const {
    return {.gpu_link_Bps = link_Bps, .nic_Bps = nic_Bps, .workers = ranks(), .gpus_per_node = gpus};
  }
  Cluster cluster() const {
    const NodeShape shape{nodes, gpus, link_Bps, 0, nic_Bps, 0, 1};
    return cluster_on(find_plugin(topology_plugins(), "star", "topology").make(Json::object(), shape), gpus);
  }
};

/// What NCCL's tuning model estimates (ncclTopoTuneModel and ncclTopoGetAlgoTime of 2.29.7, less their
/// corrections by size and caps on bandwidth); the search of its graphs finds what the links carry. In s.
double nccl_estimate_s(CollectiveOp op, int algorithm, int protocol, bool nvlink, const Machine& machine,
                       double bytes) {
  const int ranks = machine.ranks(), nodes = machine.nodes, passes = op == CollectiveOp::all_reduce ? 2 : 1;
  const int steps = passes * (ranks - 1), inter_steps = passes * (nodes - 1);
  double intra_us = (nvlink ? kNvlink : kPci)[algorithm][protocol];
  const double inter_us = kNet[machine.gpus == 1 ? kTree : algorithm][protocol];
  double bus_Bps = nodes == 1 ? machine.link_Bps : std::min(machine.link_Bps, machine.nic_Bps);
  double latency_us = kBase[algorithm][protocol];
  if (algorithm == kRing) {
    constexpr double kShare[] = {.5, .92, 1};
    if (nodes > 1) intra_us = std::max(intra_us, protocol == 2 ? 3.0 : 1.0);
    latency_us += (steps - inter_steps) * intra_us + inter_steps * inter_us;
    return latency_us * 1e-6 + bytes / (bus_Bps * kShare[protocol] * ranks / steps);
  }
  // Of two nodes each sends to one other: a tree's search lets links inside have twice the NIC's.
  if (nodes == 2) bus_Bps = machine.gpus == 1 ? 2 * machine.nic_Bps : machine.link_Bps;
  bus_Bps *= .92;
  if (protocol == 0) bus_Bps /= 3.8;
  if (protocol == 1) bus_Bps *= nodes == 1 ? 7.0 / 9 : 120.0 / 128;
  if (machine.gpus == 1) bus_Bps *= .85;  // NCCL_TOPO_PATTERN_TREE
  latency_us += 2 * ((machine.gpus - 1) * intra_us + std::log2(nodes) * inter_us);
  return latency_us * 1e-6 + bytes / (bus_Bps * .5);
}

}  // namespace

TEST_CASE("rings and trees take what NCCL's tuning model estimates, on one node and on many") {
  for (const int nodes : {1, 2, 4, 8, 16})
    for (const int gpus : {1, 2, 4, 8})
      for (const double nic_Bps : {1e11, 12.5e9}) {
        const Machine machine{nodes, gpus, 1e11, nic_Bps};
        if (machine.ranks() == 1) continue;
        const Cluster cluster = machine.cluster();
        for (const CollectiveOp op :
             {CollectiveOp::all_reduce, CollectiveOp::reduce_scatter, CollectiveOp::all_gather})
          for (const int algorithm : {kTree, kRing})
            for (int protocol = 0; protocol < 3; ++protocol)
              for (const double bytes : {0.0, 4096.0, 1048576.0, 1e9}) {
                const bool nvlink = (nodes + gpus + protocol) % 2 == 0;
                if (algorithm == kTree && (op != CollectiveOp::all_reduce || (nodes == 2 && nic_Bps < 1e11)))
                  continue;  // trees reduce all; with slow NICs two nodes pipeline less well than NCCL hopes
                CAPTURE(nodes);
                CAPTURE(gpus);
                CAPTURE(nic_Bps);
                CAPTURE(op_name(op));
                CAPTURE(algorithm);
                CAPTURE(kProtocols[protocol]);
                CAPTURE(bytes);
                const CollectivePolicies policies{
                    {op, policy_of(op, options_of(algorithm, protocol, nvlink ? "nvlink" : "pcie"),
                                   machine.context())}};
                const Plan plan =
                    plan_by_policy(policies, cluster, all_ranks(cluster), {op, bytes, 0, 1, ""});
                const double estimate_s = nccl_estimate_s(op, algorithm, protocol, nvlink, machine, bytes);
                CHECK(predicted_s(plan) / estimate_s == Approx(1).epsilon(1e-9));
              }
      }
}

TEST_CASE(
    "the fastest is the least of NCCL's latencies and bandwidths, LL128 not among them where PCIe is inside") {
  const Machine machine{8, 4, 1e10, 1.25e9};
  for (const bool nvlink : {true, false}) {
    CAPTURE(nvlink);
    double least_s = std::numeric_limits<double>::infinity();
    for (const int algorithm : {kTree, kRing})
      for (const int protocol : {0, 1, 2})
        if (nvlink || protocol != 1)
          least_s = std::min(least_s, nccl_estimate_s(CollectiveOp::all_reduce, algorithm, protocol, nvlink,
                                                      machine, 16384));
    const CollectivePolicies policies{
        {CollectiveOp::all_reduce,
         policy_of(CollectiveOp::all_reduce, {{"inside", nvlink ? "nvlink" : "pcie"}, {"choice", "fastest"}},
                   machine.context())}};
    const Cluster cluster = machine.cluster();
    const Plan plan =
        plan_by_policy(policies, cluster, all_ranks(cluster), {CollectiveOp::all_reduce, 16384, 0, 1, ""});
    CHECK(predicted_s(plan) / least_s == Approx(1).epsilon(1e-9));
  }
}

TEST_CASE(
    "the A100 nodes that we ship have a tree by Simple with NCCL's latencies, faster at 16 MiB on four nodes") {
  std::ifstream file(SIMSGD_SOURCE_DIR "/scenarios/clusters/a100-nvswitch-ib200.json");
  const Json shipped = Json::parse(file);
  CollectivePolicy policy = read_policy(CollectiveOp::all_reduce, shipped["collectives"]["all_reduce"]);
  const Machine machine{4, 8, shipped["gpu_link"]["bandwidth"], shipped["nic"]["bandwidth"]};
  const Cluster cluster = machine.cluster();
  const auto time_s = [&](double bytes) {
    return predicted_s(plan_by_policy({{CollectiveOp::all_reduce, policy}}, cluster, all_ranks(cluster),
                                      {CollectiveOp::all_reduce, bytes, 0, 1, ""}));
  };
  const double with_all_s = time_s(16777216);
  const auto simple = std::find_if(policy.ways.begin(), policy.ways.end(), [](const CollectiveWay& way) {
    return way.schedule == "double_binary_tree" && way.costs.launch_s == 8.4e-6;
  });
  REQUIRE(simple != policy.ways.end());
  CHECK(simple->costs.step_latency_s * 1e6 == Approx(4));
  CHECK(shipped["nic"]["latency"] == "0.6 us");
  CHECK((simple->costs.step_latency_s + simple->costs.between_latency_s) * 1e6 + 0.6 == Approx(14));
  policy.ways.erase(simple);
  CHECK(time_s(16777216) > 1.2 * with_all_s);
}

TEST_CASE("a group of one GPU per node, or of one node, pays its own hops") {
  const Machine machine{8, 8, 1e11, 1e11};
  const Cluster cluster = machine.cluster();
  const CollectivePolicies policies{
      {CollectiveOp::all_reduce,
       policy_of(CollectiveOp::all_reduce, options_of(kRing, 2, "nvlink"), machine.context())}};
  const auto latency_us = [&](const std::vector<int>& ranks) {
    return predicted_s(plan_by_policy(policies, cluster, ranks, {CollectiveOp::all_reduce, 0, 0, 1, ""})) *
           1e6;
  };
  CHECK(latency_us({0, 1, 2, 3, 4, 5, 6, 7}) == Approx(8.4 + 14 * 3.4));
  CHECK(latency_us({0, 8, 16, 24}) == Approx(8.4 + 6 * 14.0));
  CHECK(latency_us({0, 1, 8, 9}) == Approx(8.4 + 4 * 3.4 + 2 * 14.0));
}

TEST_CASE(
    "LL128 is not taken over PCIe inside a node, nor below compute capability 7.0, unless it is asked for") {
  const auto takes_ll128 = [](Json options, int gpus_per_node) {
    const StackContext cluster{
        .gpu_link_Bps = 1e10, .nic_Bps = 1e10, .workers = 8 * gpus_per_node, .gpus_per_node = gpus_per_node};
    const CollectivePolicy policy = policy_of(CollectiveOp::all_reduce, std::move(options), cluster);
    return std::any_of(policy.ways.begin(), policy.ways.end(),
                       [](const CollectiveWay& way) { return way.costs.launch_s == 14e-6; });
  };
  CHECK(takes_ll128({{"inside", "nvlink"}}, 4));
  CHECK_FALSE(takes_ll128({{"inside", "pcie"}}, 4));
  CHECK(takes_ll128({{"inside", "pcie"}}, 1));  // nothing is inside
  CHECK(takes_ll128({{"inside", "pcie"}, {"protocol", "ll128"}}, 4));
  CHECK(takes_ll128({{"compute_capability", 70}}, 4));
  CHECK_FALSE(takes_ll128({{"compute_capability", 61}}, 4));
  CHECK(takes_ll128({{"compute_capability", 61}, {"protocol", "ll128"}}, 4));
}

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
  const StackContext single{.gpu_link_Bps = 0, .nic_Bps = 1e10, .workers = 16, .gpus_per_node = 1};
  CHECK(way_of(kTree, 2, "nvlink", single).costs.between_share == Approx(.92 * .85).epsilon(1e-12));
}

namespace {

/// What the stack takes of a vector among the first GPUs of the machine; and by which way.
double stack_time_s(const Json& options, const Machine& machine, CollectiveOp op, double bytes) {
  const Cluster cluster = machine.cluster();
  const Plan plan = plan_by_policy({{op, policy_of(op, options, machine.context())}}, cluster,
                                   all_ranks(cluster), {op, bytes, 0, 1, ""});
  return predicted_s(plan);
}

constexpr double kMiB = 1048576;

}  // namespace

TEST_CASE("NCCL's choice stays by its own estimate, also where it is not the fastest here") {
  // Two A100: NCCL expects Simple to take 15.2 us + m / 240 GB/s and LL 7.8 us + m / 87.7 GB/s. Here Simple's
  // launch takes 30 us: at 1 MiB LL would be faster, and Simple is taken.
  const Machine machine{1, 2, 300e9, 25e9};
  const Json slow = {{"compute_capability", 80}, {"simple", {{"ring", {{"launch", 30e-6}}}}}};
  Json fastest = slow;
  fastest["choice"] = "fastest";
  const double simple_s = 30e-6 + 2 * 3.4e-6 + kMiB / 300e9, ll_s = 6.6e-6 + 2 * 0.6e-6 + kMiB / 150e9;
  REQUIRE(ll_s < simple_s);
  CHECK(stack_time_s(slow, machine, CollectiveOp::all_reduce, kMiB) == Approx(simple_s).epsilon(1e-9));
  CHECK(stack_time_s(fastest, machine, CollectiveOp::all_reduce, kMiB) == Approx(ll_s).epsilon(1e-9));
  CHECK(stack_time_s(slow, machine, CollectiveOp::all_reduce, kMiB / 2) ==
        Approx(ll_s - kMiB / 2 / 150e9).epsilon(1e-9));
}

TEST_CASE("eight H100 reduce in the switch from 2 MiB on, four of them nowhere, and none without NVLS") {
  // 8 x 40 GB/s x 0.85 x 7/8 x 2 = 476 GB/s of the bus, of which rings have 360: 272 GB/s of the vector. Of
  // four 4 x 60 x 0.85 x 3/4 x 2 = 306.
  const Json options = {{"compute_capability", 90}};
  const auto reduces = [&](int gpus, double bytes, const Json& with) {
    const double nvls_s = 25e-6 + (1 + 1.0 / gpus) * bytes / (0.85 * 360e9);
    return std::fabs(stack_time_s(with, {1, gpus, 450e9, 25e9}, CollectiveOp::all_reduce, bytes) / nvls_s -
                     1) < 1e-9;
  };
  CHECK_FALSE(reduces(8, kMiB, options));
  for (const double bytes : {2 * kMiB, 64 * kMiB, 1024 * kMiB}) CHECK(reduces(8, bytes, options));
  for (const double bytes : {kMiB, 8 * kMiB, 1024 * kMiB}) CHECK_FALSE(reduces(4, bytes, options));
  CHECK_FALSE(reduces(8, 64 * kMiB, {{"compute_capability", 90}, {"nvls", false}}));
  CHECK_FALSE(reduces(8, 64 * kMiB, {{"compute_capability", 80}}));
  CHECK(reduces(4, 8 * kMiB, {{"compute_capability", 90}, {"algorithm", "nvls"}}));
}

TEST_CASE("reduction in the switches of several nodes takes what is slower, inside or between") {
  for (const int nodes : {2, 4, 8})
    for (const double nic_Bps : {5e9, 50e9, 400e9}) {
      CAPTURE(nodes);
      CAPTURE(nic_Bps);
      const int gpus = 4, levels = static_cast<int>(std::log2(nodes));
      const NodeShape shape{nodes, gpus, 450e9, 0, nic_Bps, 0, gpus};
      const Cluster cluster =
          cluster_on(find_plugin(topology_plugins(), "star", "topology").make(Json::object(), shape), gpus);
      const StackContext context{.gpu_link_Bps = 450e9,
                                 .nic_Bps = nic_Bps,
                                 .workers = nodes * gpus,
                                 .gpus_per_node = gpus,
                                 .nics = gpus};
      const CollectivePolicies policies{
          {CollectiveOp::all_reduce,
           policy_of(CollectiveOp::all_reduce, {{"compute_capability", 90}, {"algorithm", "nvls"}},
                     context)}};
      const double bytes = 1e9, inside_s = 1.25 * bytes / (0.85 * 360e9),
                   between_s = (nodes == 2 ? 1 : 2) * bytes / gpus / nic_Bps;
      const Plan plan =
          plan_by_policy(policies, cluster, all_ranks(cluster), {CollectiveOp::all_reduce, bytes, 0, 1, ""});
      CHECK(predicted_s(plan) ==
            Approx(25e-6 + 2 * levels * 20.9e-6 + std::max(inside_s, between_s)).epsilon(1e-9));
      // What is sent does not depend on which of both takes the time.
      double sent_bytes = 0;
      for (const double sent : plan.bytes_sent()) {
        CHECK(sent <= (1.25 * bytes + (nodes == 2 ? 1 : 2) * bytes / gpus) * (1 + 1e-9));
        sent_bytes += sent;
      }
      // Each GPU's part goes up and down the nodes - 1 edges of its trees.
      CHECK(sent_bytes == Approx(gpus * nodes * 1.25 * bytes + 2 * (nodes - 1) * bytes).epsilon(1e-9));
      double inside_bytes = 0;
      for (const auto& [link, carried] : plan.link_bytes())
        if (cluster.network.links[static_cast<std::size_t>(link)].name == "gpu0.up") inside_bytes = carried;
      CHECK(inside_bytes == Approx(1.25 * bytes * 450 / (0.85 * 360)).epsilon(1e-9));
    }
}

TEST_CASE("a ring's and a tree's messages between nodes are spread over as many NICs as have a GPU") {
  const int gpus = 4;
  const NodeShape shape{2, gpus, 450e9, 0, 25e9, 0, gpus};
  const Cluster cluster =
      cluster_on(find_plugin(topology_plugins(), "star", "topology").make(Json::object(), shape), gpus);
  const StackContext context{
      .gpu_link_Bps = 450e9, .nic_Bps = 25e9, .workers = 8, .gpus_per_node = gpus, .nics = gpus};
  const CollectivePolicies policies{
      {CollectiveOp::all_reduce,
       policy_of(CollectiveOp::all_reduce, options_of(kRing, 2, "nvlink"), context)}};
  const auto flow_s = [&](const std::vector<int>& ranks) {
    const auto time_s = [&](double bytes) {
      return predicted_s(
          plan_by_policy(policies, cluster, ranks, {CollectiveOp::all_reduce, bytes, 0, 1, ""}));
    };
    return time_s(1e9) - time_s(0);
  };
  CHECK(flow_s({0, 1, 2, 3, 4, 5, 6, 7}) == Approx(14.0 / 8 * 1e9 / 100e9).epsilon(1e-9));
  CHECK(flow_s({0, 1, 4, 5}) == Approx(6.0 / 4 * 1e9 / 50e9).epsilon(1e-9));
  CHECK(flow_s({0, 4}) == Approx(1e9 / 25e9).epsilon(1e-9));
}

TEST_CASE("kernels' passes go with the bytes that are read and written, which an all-gather has fewer of") {
  // Links of 4 ps a byte, 2 ps for the 2 m bytes of an all-reduce: of 4 GPUs the others read and write 1.25
  // m.
  const Machine machine{1, 4, 250e9, 25e9};
  const Json options = {{"protocol", "simple"}, {"algorithm", "ring"}, {"simple", {{"payload", 2e-12}}}};
  const auto per_byte = [&](CollectiveOp op) {
    return (stack_time_s(options, machine, op, 1e9) - stack_time_s(options, machine, op, 0)) / 1e9;
  };
  CHECK(per_byte(CollectiveOp::all_reduce) == Approx(1.5 * 4e-12 + 2e-12).epsilon(1e-9));
  CHECK(per_byte(CollectiveOp::all_gather) == Approx(0.75 * 4e-12 + 1.25e-12).epsilon(1e-9));
  CHECK(per_byte(CollectiveOp::reduce_scatter) == Approx(0.75 * 4e-12 + 1.25e-12).epsilon(1e-9));
}

TEST_CASE(
    "steps of LL take what a block takes until all channels have work; the last primitive only receives") {
  // Half of 250 GB/s is 8 ps a byte, of 12 channels of an A100: one passes 4 KiB in 393.2 ns.
  const Machine machine{1, 4, 250e9, 25e9};
  const Json plain = {{"protocol", "ll"}, {"algorithm", "ring"}};
  Json filled = plain;
  filled["ll"] = {{"filled_launch", 1e-6}};
  const auto extra_ns = [&](double part, CollectiveOp op) {
    return 1e9 * (stack_time_s(filled, machine, op, 4 * part) - stack_time_s(plain, machine, op, 4 * part));
  };
  const double block_ns = 12 * 4096 * 8e-3;
  for (const auto& [op, steps] : {std::pair{CollectiveOp::all_reduce, 6}, {CollectiveOp::all_gather, 3}}) {
    CHECK(extra_ns(2048, op) ==
          Approx(250 + steps * (block_ns / 4 - 2048 * 8e-3) + 2048 * 8e-3).epsilon(1e-6));
    CHECK(extra_ns(8192, op) == Approx(1000 + steps * (block_ns - 8192 * 8e-3) + 8192 * 8e-3).epsilon(1e-6));
    CHECK(extra_ns(1e6, op) == Approx(1000 + 1e6 * 8e-3).epsilon(1e-6));
  }
  // Over PCIe links are what it waits for. Two channels of 12 GB/s, 80 ps a byte: a block needs 655 ns.
  const Machine pcie{1, 4, 25e9, 25e9};
  Json slow = filled, slow_plain = plain;
  slow["inside"] = slow_plain["inside"] = "pcie";
  slow["taken_for"] = slow_plain["taken_for"] = 24e9;
  const auto time_ns = [&](const Json& options) {
    return 1e9 * stack_time_s(options, pcie, CollectiveOp::all_reduce, 4 * 8192);
  };
  CHECK(time_ns(slow) - time_ns(slow_plain) == Approx(1000 + 6 * (2 * 4096 - 8192) * 0.08).epsilon(1e-6));
}

TEST_CASE("parts of up to 16 KiB go to each peer by LL, larger ones by Simple") {
  const Machine machine{1, 4, 250e9, 25e9};
  const auto time_us = [&](double part) {
    return 1e6 * stack_time_s(Json::object(), machine, CollectiveOp::all_to_all, 4 * part);
  };
  CHECK(time_us(16384) == Approx(6.6 + 3 * 0.6 + 3 * 16384 / 125e3).epsilon(1e-9));
  CHECK(time_us(16400) == Approx(8.4 + 3.4 + 3 * 0.6 + 3 * 16400 / 250e3).epsilon(1e-9));
}

TEST_CASE(
    "with one GPU per node parts of vectors go up and down trees of all blocks where these are quicker") {
  // 64 nodes: a ring's 63 steps of LL take 5 us each, and trees 8 us + 6 levels of 14/3.5 us + 64 x 2.8 us.
  const Machine machine{64, 1, 0, 25e9};
  CHECK(1e6 * stack_time_s(Json::object(), machine, CollectiveOp::all_gather, 64) ==
        Approx(8 + 6 * 4 + 64 * 2.8).epsilon(1e-3));
  CHECK(1e6 * stack_time_s({{"algorithm", "ring"}}, machine, CollectiveOp::all_gather, 64) ==
        Approx(6.6 + 63 * 5).epsilon(1e-3));
}

TEST_CASE("GPUs without a path to each other share the host's memory") {
  for (const int gpus : {2, 4, 8}) {
    CAPTURE(gpus);
    NodeShape shape{1, gpus, 24e9, 0, 25e9, 0, 1};
    shape.host_memory_Bps = 20e9;
    const Cluster cluster =
        cluster_on(find_plugin(topology_plugins(), "star", "topology").make(Json::object(), shape), gpus);
    const Plan plan = plan_by_policy({{CollectiveOp::all_reduce, CollectivePolicy::of("ring")}}, cluster,
                                     all_ranks(cluster), {CollectiveOp::all_reduce, 1e9, 0, 1, ""});
    // Of each of 2 (P-1) steps P messages of m/P cross it.
    CHECK(predicted_s(plan) == Approx(2 * (gpus - 1) * 1e9 / 20e9).epsilon(1e-9));
  }
}

}  // namespace simsgd::test::stacks_nccl

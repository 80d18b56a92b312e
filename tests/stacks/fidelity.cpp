// What a library adds is the same at every fidelity: steps, messages and flows of policies with every cost,
// on unequal nodes, with segments and a token bucket.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/engine/simulate.hpp"
#include "sim/stacks/policy.hpp"
#include "tests/collectives/support.hpp"

namespace simsgd::test::stacks_fidelity {

namespace {

void check_same(const Cluster& cluster, const char* way, double bytes) {
  CAPTURE(way);
  CAPTURE(bytes);
  const CollectivePolicies policies{
      {CollectiveOp::all_reduce, read_policy(CollectiveOp::all_reduce, Json::array({Json::parse(way)}))}};
  const Plan plan =
      plan_by_policy(policies, cluster, all_ranks(cluster), {CollectiveOp::all_reduce, bytes, 0, 1, ""});
  REQUIRE(plan.sharing().dedicated);

  const std::vector<double> simulated =
      simulate_plans(cluster, {{&plan, Fidelity::messages}, {&plan, Fidelity::flows}}, nullptr);
  CHECK(std::fabs(simulated[0] - plan.dedicated_time_s()) <= 1e-9 * simulated[0]);
  CHECK(std::fabs(simulated[1] - plan.dedicated_time_s()) <= 1e-9 * simulated[1]);
  CHECK(predicted_s(plan) == plan.dedicated_time_s());
}

constexpr const char* kWays[] = {
    R"({"schedule": "ring", "launch": 1e-5, "step_latency": 2e-6, "between_latency": 3e-6, "bandwidth_share": 0.5,
        "between_share": 0.25, "payload": 1e-12})",
    R"({"schedule": "ring", "step_latency": 2e-6, "between_latency": 3e-5, "pipelined": true, "between_share": 0.25})",
    R"({"schedule": "hierarchical", "step_latency": 1e-6, "bandwidth_share": 0.7})",
    R"({"schedule": "double_binary_tree", "piece": 5000, "between_share": 0.5})",
    R"({"schedule": "ring", "floor": 0.02})"};

}  // namespace

TEST_CASE("a library's costs are the same in steps, messages and flows") {
  Cluster cluster = make_cluster("star", 3, 2, 2);
  cluster.network.gpus_per_node = 2;
  for (const char* way : kWays)
    for (const double bytes : {600.0, 1e7}) check_same(cluster, way, bytes);
}

TEST_CASE("so are they where the ranks of a node take turns at its NIC") {
  Cluster cluster = make_cluster("star", 4, 2);
  cluster.network.gpus_per_node = 2;
  for (const double bytes : {600.0, 1e7}) check_same(cluster, kWays[3], bytes);
}

TEST_CASE("so are messages by size and token buckets") {
  Cluster cluster = make_cluster("star", 6);
  MessageSegments& between = cluster.network.between;
  between.latency_s = kAlpha;
  between.bandwidth_Bps = kBandwidth;
  SUBCASE("segments") { between.segments = {{4096, 2e-5, 1e9}, {1e9, 3e-5, 20e9}}; }
  SUBCASE("a token bucket") {
    between.burst_bytes = 100000;
    between.burst_Bps = 80e9;
  }
  // A ring through buckets is in tests/stacks/token_bucket.cpp: in flows it is not the same.
  const char* way = between.burst_bytes > 0 ? R"({"schedule": "rabenseifner"})" : R"({"schedule": "ring"})";
  for (const double bytes : {600.0, 1e5, 1e7}) check_same(cluster, way, bytes);
}

}  // namespace simsgd::test::stacks_fidelity

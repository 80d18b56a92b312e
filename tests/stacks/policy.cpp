// What a library does of each size: by tables, the fastest of several, measured times; and schedules that
// pipeline.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/stacks/policy.hpp"
#include "tests/collectives/support.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::stacks_policy {

using Op = CollectiveOp;

namespace {

bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

CollectivePolicies all_reduce(const char* json) {
  return {{Op::all_reduce, read_policy(Op::all_reduce, Json::parse(json))}};
}

double time_of(const CollectivePolicies& policies, const Cluster& cluster, double bytes,
               const std::string& schedule = "") {
  return predicted_s(
      plan_by_policy(policies, cluster, all_ranks(cluster), {Op::all_reduce, bytes, 0, 1, schedule}));
}

double ring_s(int ranks, double bytes) { return 2 * (ranks - 1) * (kAlpha + bytes / ranks / kBandwidth); }
double doubling_s(int ranks, double bytes) { return std::log2(ranks) * (kAlpha + bytes / kBandwidth); }

}  // namespace

TEST_CASE("a size is done by the first entry that takes it, its end among them") {
  const auto policies =
      all_reduce(R"([{"up_to": 65536, "schedule": "recursive_doubling"}, {"schedule": "ring"}])");
  const Cluster cluster = star(8);
  CHECK(close(time_of(policies, cluster, 65536), doubling_s(8, 65536)));
  CHECK(close(time_of(policies, cluster, 65537), ring_s(8, 65537)));
  CHECK(close(time_of(policies, cluster, 0), doubling_s(8, 0)));
}

TEST_CASE("the fastest of several is the least of their times, whatever the size") {
  const auto policies =
      all_reduce(R"({"fastest": [{"schedule": "ring"}, {"schedule": "recursive_doubling"}]})");
  for (const int ranks : {2, 8, 32})
    for (double bytes = 1; bytes < 1e9; bytes *= 7)
      CHECK(close(time_of(policies, star(ranks), bytes),
                  std::min(ring_s(ranks, bytes), doubling_s(ranks, bytes))));
}

TEST_CASE("of the fastest those that do not fit the group are left out, and none left is an error") {
  Cluster cluster = make_cluster("star", 2, 4);
  cluster.endpoint_of_rank = {0, 1, 2, 4, 5};  // three on one node, two on the other
  const auto both = all_reduce(R"({"fastest": [{"schedule": "hierarchical"}, {"schedule": "tree"}]})");
  const auto tree = all_reduce(R"([{"schedule": "tree"}])");
  CHECK(time_of(both, cluster, 1e6) == time_of(tree, cluster, 1e6));
  CHECK_THROWS_WITH_AS(time_of(all_reduce(R"({"fastest": [{"schedule": "hierarchical"}]})"), cluster, 1e6),
                       doctest::Contains("same number of ranks on every node"), RunError);
}

TEST_CASE("entries for a number of workers are for no other") {
  const auto policies = all_reduce(
      R"([{"workers": 2, "schedule": "tree"}, {"workers": 8, "up_to": 10, "schedule": "tree"}, {"workers": 8, "schedule": "ring"}])");
  CHECK(close(time_of(policies, star(8), 1e6), ring_s(8, 1e6)));
  CHECK(close(time_of(policies, star(8), 10), 6 * (kAlpha + 10 / kBandwidth)));
  CHECK_THROWS_WITH_AS(time_of(policies, star(4), 1e6), doctest::Contains("no entry for 1e+06 bytes among 4"),
                       RunError);
}

TEST_CASE("an algorithm's own schedule is kept, with what the library adds to it") {
  const auto policies =
      all_reduce(R"([{"up_to": 10, "schedule": "ring"}, {"schedule": "tree", "launch": 1e-3}])");
  CHECK(close(time_of(policies, star(8), 1e6, "ring"), ring_s(8, 1e6)));
  CHECK(close(time_of(policies, star(8), 1e6, "tree"), 1e-3 + 6 * (kAlpha + 1e6 / kBandwidth)));
}

TEST_CASE("launch, latency per step, share and payload add up in closed form; a floor holds below") {
  const auto policies = all_reduce(
      R"([{"schedule": "ring", "launch": 2e-5, "step_latency": 3e-6, "bandwidth_share": 0.5, "payload": 4e-12, "floor": 1e-3}])");
  const auto expected = [](double bytes) {
    return 2e-5 + 14 * (kAlpha + 3e-6 + bytes / 8 / (kBandwidth / 2)) + 4e-12 * bytes;
  };
  CHECK(expected(1e8) > 1e-3);
  CHECK(close(time_of(policies, star(8), 1e8), expected(1e8)));
  CHECK(expected(1e6) < 1e-3);
  CHECK(close(time_of(policies, star(8), 1e6), 1e-3));
  CHECK(time_of(policies, star(1), 1e6) == 0);
}

TEST_CASE("between nodes latency and share are others") {
  const auto policies = all_reduce(
      R"([{"schedule": "hierarchical", "step_latency": 1e-6, "between_latency": 5e-6, "bandwidth_share": 0.5, "between_share": 0.25}])");
  const Cluster cluster = make_cluster("star", 4, 2, 2);
  const double bytes = 1e8, block = bytes / 2, piece = block / 4;
  const double inside =
      2 * (2e-6 + 1e-6 + block / (300e9 * 0.5));  // one step down, one up; two links of 1 us each
  const double between = 6 * (kAlpha + 1e-6 + 5e-6 + piece / (kBandwidth * 0.25));
  CHECK(close(time_of(policies, cluster, bytes), inside + between));
}

TEST_CASE("in a pipelined ring a block meets each hop's latency once; else every step takes the longest") {
  const Cluster cluster = make_cluster("star", 3, 4);
  const auto time = [&](const char* ring) { return time_of(all_reduce(ring), cluster, 0); };
  // Of 11 hops of a round two are between nodes; two links of 1 us inside.
  const double inside = 2e-6 + 1e-6, between = kAlpha + 1e-6 + 5e-5;
  CHECK(
      close(time(R"([{"schedule": "ring", "step_latency": 1e-6, "between_latency": 5e-5}])"), 22 * between));
  CHECK(close(
      time(R"([{"schedule": "ring", "step_latency": 1e-6, "between_latency": 5e-5, "pipelined": true}])"),
      2 * (9 * inside + 2 * between)));
}

TEST_CASE("measured times are what they are at their sizes, and go straight on logarithmic scales between") {
  const auto policies = all_reduce(R"({"measured": [
      {"workers": 4, "bytes": 1000, "time": 1e-5}, {"workers": 4, "bytes": 100000, "time": 4e-5},
      {"workers": 16, "bytes": 1000, "time": 4e-5}, {"workers": 16, "bytes": 100000, "time": 1.6e-4}]})");
  CHECK(close(time_of(policies, star(4), 1000), 1e-5));
  CHECK(close(time_of(policies, star(4), 100000), 4e-5));
  CHECK(close(time_of(policies, star(4), 10000), 2e-5));
  CHECK(close(time_of(policies, star(8), 10000), 4e-5));  // between 2e-5 and 8e-5
  for (const auto& [ranks, bytes] : {std::pair(4, 999.0), {4, 100001.0}, {3, 1000.0}, {17, 1000.0}})
    CHECK_THROWS_WITH_AS(time_of(policies, star(ranks), bytes),
                         doctest::Contains("outside what was measured"), RunError);
}

TEST_CASE("a measured operation waits for all, at every fidelity, and its launch is in it") {
  const auto policies = all_reduce(R"({"measured": [{"workers": 4, "bytes": 1000, "time": 1e-3}]})");
  Cluster cluster = star(4);
  cluster.host.launch_s = 1e-4;
  const Plan plan = plan_by_policy(policies, cluster, all_ranks(cluster), {Op::all_reduce, 1000, 0, 1, ""});
  for (const Fidelity asked : {Fidelity::automatic, Fidelity::messages, Fidelity::flows, Fidelity::steps})
    CHECK(plan.choose(asked, false).fidelity == Fidelity::closed);
  const std::vector<double> arrivals{0, 5e-4, 1e-4, 0};
  std::vector<double> closed;
  plan.ends_by_closed_form(arrivals, closed);
  CHECK(ends_of(plan, arrivals) == closed);
  for (const double end : closed) CHECK(close(end, 5e-4 + 1e-3));
  CHECK(plan.bytes_sent().front() == 1500);  // as its default schedule
}

TEST_CASE("a double binary tree takes few latencies and the vector twice") {
  const auto policies = all_reduce(R"([{"schedule": "double_binary_tree", "piece": 1000}])");
  const double inside_Bps = 300e9, inside_s = 2e-6, bytes = 1e8, piece = 1000;
  for (const int nodes : {1, 2, 3, 4, 8}) {
    CAPTURE(nodes);
    const Cluster cluster = make_cluster("star", nodes, 4);
    const double levels = std::ceil(std::log2(nodes));
    const double latencies = 2 * 3 * inside_s + 2 * levels * (kAlpha + piece / kBandwidth);
    const double moved = nodes == 1   ? 2 * bytes / inside_Bps
                         : nodes == 2 ? (bytes - piece) / kBandwidth + (bytes - piece) / inside_Bps
                                      : 2 * (bytes - piece) / kBandwidth;
    CHECK(close(time_of(policies, cluster, bytes), latencies + moved));
  }
}

TEST_CASE("messages take what their segment says, and a token bucket lets its burst through") {
  Network network = star(2).network;
  network.gpus_per_node = 1;
  network.between.latency_s = kAlpha;
  network.between.bandwidth_Bps = kBandwidth;
  SUBCASE("segments") {
    network.between.segments = {{1000, 7e-6, 1e9}, {1e6, 9e-6, 2e9}, {1e9, 2e-5, kBandwidth}};
    const auto time = [&](double bytes) {
      const PathCost cost = network.message_cost(0, 1, bytes);
      return cost.alpha_s + cost.wire_bytes * cost.beta_s_per_byte;
    };
    CHECK(close(time(0), 7e-6));
    CHECK(close(time(1000), 7e-6 + 1e-6));
    CHECK(close(time(1001), 9e-6 + 1001 / 2e9));
    CHECK(close(time(1e8), 2e-5 + 1e8 / kBandwidth));
    CHECK(close(time(1e10), 2e-5 + 1e10 / kBandwidth));  // beyond the last one
  }
  SUBCASE("a token bucket") {
    network.between.burst_bytes = 30000;
    network.between.burst_Bps = 4 * kBandwidth;
    for (const double bytes : {0.0, 1.0, 30000.0, 39999.0, 40001.0, 1e8}) {
      const PathCost cost = network.message_cost(0, 1, bytes);
      CHECK(close(cost.alpha_s + cost.wire_bytes * cost.beta_s_per_byte,
                  kAlpha + std::max(bytes / (4 * kBandwidth), (bytes - 30000) / kBandwidth)));
    }
  }
}

// Policies as clusters and scenarios write them: whose holds, and what is wrong with them.

TEST_CASE("the network's policy replaces the cluster's, and documents show which holds") {
  Json scenario = small_scenario();
  CHECK(job_of(scenario).network.collectives.empty());
  scenario["cluster"]["collectives"] = {{"all_reduce", {{{"schedule", "tree"}, {"launch", "2 us"}}}}};
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().schedule == "tree");
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().costs.launch_s ==
        2e-6);
  scenario["network"]["all_reduce"] = "ring";
  CHECK(job_of(scenario).network.collectives.at(CollectiveOp::all_reduce).ways.front().schedule == "ring");
}

TEST_CASE("what is wrong with a table is told with its entry, all at once") {
  Json scenario = small_scenario();
  scenario["network"]["all_reduce"] = {{{"schedule", "ring"}}, {{"schedule", "tree"}}};
  scenario["cluster"]["collectives"] = {
      {"all_gather",
       {{"measured",
         {{{"workers", 2}, {"bytes", 10}, {"time", 1}}, {{"workers", 2}, {"bytes", 10}, {"time", 2}}}}}}};
  const std::string errors = errors_of(scenario);
  CHECK(errors.find("/network/all_reduce/0: takes any size, so the next entry is never used") !=
        std::string::npos);
  CHECK(errors.find("/cluster/collectives/all_gather/measured/1: is not above the one before it") !=
        std::string::npos);
}

TEST_CASE("entries by number of workers and by their parts ascend too, and take what they say") {
  const auto errors = [](const Json& entries) {
    Json scenario = small_scenario();
    scenario["network"]["all_gather"] = entries;
    return errors_of(scenario);
  };
  const Json among8{{"up_to_workers", 8}, {"schedule", "ring"}},
      among4{{"up_to_workers", 4}, {"schedule", "ring"}};
  const Json any{{"schedule", "bruck"}};
  CHECK(
      errors({among8, among4}).find("/network/all_gather/1/up_to_workers: is not above the one before it") !=
      std::string::npos);
  CHECK(errors({any, among4}).find("/network/all_gather/1/up_to_workers: is not above the one before it") !=
        std::string::npos);
  const Json parts{{"up_to_part", 100}, {"schedule", "ring"}},
      fewer{{"up_to_part", 99}, {"schedule", "ring"}};
  CHECK(errors({parts, fewer}).find("/network/all_gather/1/up_to_part: is not above the one before it") !=
        std::string::npos);
  Json scenario = small_scenario();
  scenario["network"]["all_gather"] = {among4, among8, parts, any};
  const std::vector<CollectiveWay> ways =
      job_of(scenario).network.collectives.at(CollectiveOp::all_gather).ways;
  CHECK(ways[0].takes(4, 1e9));
  CHECK(!ways[0].takes(5, 1));
  CHECK(ways[2].takes(16, 1600));  // 100 B of each
  CHECK(!ways[2].takes(16, 1601));
  CHECK(ways[3].takes(1000, 1e12));
}

TEST_CASE("a segment is no faster than its link, and segments ascend") {
  Json scenario = small_scenario();
  scenario["cluster"]["nic"]["bandwidth"] = "1 GB/s";
  scenario["cluster"]["nic"]["segments"] = {{{"up_to", 100}, {"latency", 1e-6}, {"bandwidth", "2 GB/s"}}};
  CHECK(errors_of(scenario).find("/cluster/nic/segments/0/bandwidth: is more than the link has") !=
        std::string::npos);
  scenario["cluster"]["nic"]["segments"] = {{{"up_to", 100}, {"latency", 1e-6}, {"bandwidth", "1 GB/s"}},
                                            {{"up_to", 100}, {"latency", 1e-6}, {"bandwidth", "1 GB/s"}}};
  CHECK(errors_of(scenario).find("/cluster/nic/segments/1/up_to: is not above the one before it") !=
        std::string::npos);
}

}  // namespace simsgd::test::stacks_policy

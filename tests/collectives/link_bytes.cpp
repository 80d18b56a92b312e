// What a plan says of links and bytes: who carries how much, where messages meet, and the estimate that
// shares links evenly.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support.hpp"

namespace simsgd::test::collectives_link_bytes {

using Op = CollectiveOp;

namespace {

std::map<std::string, double> bytes_by_name(const Plan& plan, const Cluster& cluster) {
  std::map<std::string, double> bytes;
  for (const auto& [id, carried] : plan.link_bytes())
    bytes[cluster.network.links[static_cast<std::size_t>(id)].name] = carried;
  return bytes;
}

}  // namespace

TEST_CASE("in a ring every port carries 2 (P-1)/P m up and as much down") {
  const Cluster cluster = star(5);
  const Plan plan = plan_of(Op::all_reduce, "ring", 1e6, cluster);
  const auto bytes = bytes_by_name(plan, cluster);
  CHECK(bytes.size() == 10);
  for (const auto& [name, carried] : bytes) {
    CAPTURE(name);
    CHECK(carried == doctest::Approx(2 * 4.0 / 5 * 1e6).epsilon(1e-12));
  }
  for (const double sent : plan.bytes_sent())
    CHECK(sent == doctest::Approx(2 * 4.0 / 5 * 1e6).epsilon(1e-12));
}

TEST_CASE("in a broadcast among 4 the root sends two vectors, its first child one, the leaves none") {
  const Cluster cluster = star(4);
  const Plan plan = plan_of(Op::broadcast, "tree", 1e6, cluster);  // 0 -> 2, 0 -> 1, 2 -> 3
  CHECK(plan.bytes_sent() == std::vector<double>{2e6, 0, 1e6, 0});
  const std::map<std::string, double> expected = {{"node0.nic0.up", 2e6},
                                                  {"node2.nic0.up", 1e6},
                                                  {"node1.nic0.down", 1e6},
                                                  {"node2.nic0.down", 1e6},
                                                  {"node3.nic0.down", 1e6}};
  CHECK(bytes_by_name(plan, cluster) == expected);
}

TEST_CASE("a ring through nodes of 4 GPUs loads each NIC with one edge only, NVLink with the others") {
  const Cluster cluster = make_cluster("star", 2, 4);
  const Plan plan = plan_of(Op::all_reduce, "ring", 8e6, cluster);  // 14 steps of 1 MB
  const auto bytes = bytes_by_name(plan, cluster);
  CHECK(bytes.at("node0.nic0.up") == doctest::Approx(14e6));  // 3 -> 4
  CHECK(bytes.at("node1.nic0.down") == doctest::Approx(14e6));
  CHECK(bytes.at("gpu0.up") == doctest::Approx(14e6));  // 0 -> 1
  CHECK(bytes.count("gpu3.up") == 0);                   // GPU 3 sends out of the node
  CHECK(plan.sharing().dedicated);
  CHECK(!plan.sharing().equal_links);
  CHECK(plan.sharing().most_flows == 1);
}

TEST_CASE("the rings of a hierarchical all-reduce meet on a single NIC: g messages, a g-th each") {
  // 2 nodes of 4 GPUs and one NIC, m = 8 MB: 2 MB for each local rank, 1 MB for each node of it.
  const Cluster cluster = make_cluster("star", 2, 4);
  const Plan plan = plan_of(Op::all_reduce, "hierarchical", 8e6, cluster);
  CHECK(!plan.sharing().dedicated);
  CHECK(plan.sharing().most_flows == 4);
  CHECK(plan.sharing().equal_links);  // within a stage
  CHECK(plan.sharing().equal_shares);
  CHECK(bytes_by_name(plan, cluster).at("node0.nic0.up") == doctest::Approx(4 * 2 * 1e6));
  const double inside = 3 * (2e-6 + 2e6 / 300e9);
  CHECK(plan.dedicated_time_s() == doctest::Approx(2 * inside + 2 * (5e-6 + 1e6 / 25e9)).epsilon(1e-12));
  CHECK(plan.contended_time_s() == doctest::Approx(2 * inside + 2 * (5e-6 + 4 * 1e6 / 25e9)).epsilon(1e-12));
}

TEST_CASE(
    "messages of different stages can meet on a link too: it is not dedicated unless one end is always the same") {
  // Recursive doubling among 2 nodes of 2 GPUs, one NIC: in its second stage 0 -> 2 and 1 -> 3 share it.
  const Plan doubling = plan_of(Op::all_reduce, "recursive_doubling", 1e6, make_cluster("star", 2, 2));
  CHECK(doubling.sharing().most_flows == 2);
  CHECK(!doubling.sharing().dedicated);
  // A binomial broadcast among 8 nodes in a chain of 5-port switches (4 + 4 nodes): 0 -> 4 alone crosses.
  const Plan tree = plan_of(Op::broadcast, "tree", 1e6,
                            make_cluster("switch_tree", 8, 1, 1, {{"shape", "chain"}, {"ports", 5}}));
  CHECK(tree.sharing().dedicated);
  // Bruck among them: 4 -> 3 crosses in one stage, 4 -> 2 and 5 -> 3 in the next: never one sender or
  // receiver.
  const Plan bruck = plan_of(Op::all_gather, "bruck", 1e6,
                             make_cluster("switch_tree", 8, 1, 1, {{"shape", "chain"}, {"ports", 5}}));
  CHECK(!bruck.sharing().dedicated);
  CHECK(bruck.sharing().most_flows == 4);  // 4..7 -> 0..3
  CHECK(!bruck.sharing().equal_shares);    // those that stay on their switch get more
}

TEST_CASE("ranks_per_node: how many neighbours in the group share a node, 0 if that differs") {
  const Cluster cluster = make_cluster("star", 3, 4);
  CHECK(ranks_per_node(cluster, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) == 4);
  CHECK(ranks_per_node(cluster, {0, 1, 4, 5}) == 2);
  CHECK(ranks_per_node(cluster, {0, 4, 8}) == 1);
  CHECK(ranks_per_node(cluster, {0, 1, 4}) == 0);
  CHECK(ranks_per_node(cluster, {0, 1}) == 2);
  CHECK(ranks_per_node(cluster, {7}) == 1);
}

}  // namespace simsgd::test::collectives_link_bytes

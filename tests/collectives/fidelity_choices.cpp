// Which fidelity `auto` takes and what it says of the one asked for, with its reason in full.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support.hpp"

namespace simsgd::test::collectives_fidelity_choices {

using Op = CollectiveOp;

namespace {

void check(const FidelityChoice& choice, Fidelity fidelity, bool exact, const std::string& reason) {
  CHECK(fidelity_name(choice.fidelity) == fidelity_name(fidelity));
  CHECK(choice.exact == exact);
  CHECK(choice.reason == reason);
}

Plan ring(const Cluster& cluster) { return plan_of(Op::all_reduce, "ring", 1e6, cluster); }

/// 8 nodes on two leaves of four, 4:1: one spine and one uplink as fast as a NIC. Ranks take the nodes in
/// this order.
Cluster narrow_tree(int nodes, const std::vector<int>& order) {
  Cluster cluster = make_cluster("fat_tree", nodes, 1, 1, {{"leaf_nodes", 4}, {"oversubscription", 4}});
  if (!order.empty()) cluster.endpoint_of_rank = order;
  return cluster;
}

/// Ranks go to the two halves of the nodes by turns.
std::vector<int> interleaved(int nodes) {
  std::vector<int> order;
  for (int i = 0; i < nodes; ++i) order.push_back(i % 2 == 0 ? i / 2 : nodes / 2 + i / 2);
  return order;
}

}  // namespace

TEST_CASE("auto on a star: closed where the closed form holds for any arrival") {
  const std::string any = "dedicated, equal links: the closed form holds for any arrival";
  for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"}) {
    CAPTURE(schedule);
    check(plan_of(Op::all_reduce, schedule, 1e6, star(8)).choose(Fidelity::automatic, false),
          Fidelity::closed, true, any);
  }
  check(ring(star(6)).choose(Fidelity::automatic, false), Fidelity::closed, true, any);
  check(ring(star(1)).choose(Fidelity::automatic, true), Fidelity::closed, true, "one rank");
}

TEST_CASE("auto on a star: steps where ends depend on who arrived when") {
  const std::string reason = "no link carries two messages at once; ends depend on arrivals";
  check(plan_of(Op::broadcast, "tree", 1e6, star(8)).choose(Fidelity::automatic, false), Fidelity::steps,
        true, reason);
  check(plan_of(Op::reduce, "tree", 1e6, star(8)).choose(Fidelity::automatic, false), Fidelity::steps, true,
        reason);
  check(plan_of(Op::all_reduce, "tree", 1e6, star(8)).choose(Fidelity::automatic, false), Fidelity::steps,
        true, reason);
  // Six ranks fold onto four: those beyond wait for a late one twice.
  check(plan_of(Op::all_reduce, "recursive_doubling", 1e6, star(6)).choose(Fidelity::automatic, false),
        Fidelity::steps, true, reason);
}

TEST_CASE("auto: steps on unequal links and with jitter") {
  check(ring(uneven_star(8, 1)).choose(Fidelity::automatic, false), Fidelity::steps, true,
        "no link carries two messages at once; links are unequal");
  check(ring(star(8)).choose(Fidelity::automatic, true), Fidelity::steps, true,
        "no link carries two messages at once; latencies jitter");
  // A ring in node order uses each NIC for one message at a time, however many GPUs share it.
  check(ring(make_cluster("star", 4, 8)).choose(Fidelity::automatic, false), Fidelity::steps, true,
        "no link carries two messages at once; links are unequal");
}

TEST_CASE("auto with several GPUs on a NIC: their rings share it") {
  // 8 ranks: 2 x 24 messages inside the nodes, 2 x 8 between them.
  check(plan_of(Op::all_reduce, "hierarchical", 1e6, make_cluster("star", 2, 4))
            .choose(Fidelity::automatic, false),
        Fidelity::messages, true, "up to 4 messages share a link");
  // 64 ranks: 2 x 448 + 2 x 448 messages.
  check(
      plan_of(Op::all_reduce, "hierarchical", 1e6, make_cluster("star", 8, 8))
          .choose(Fidelity::automatic, false),
      Fidelity::flows, false,
      "up to 8 messages share a link; 1792 messages are too many one by one, so each ring's are aggregated: exact when all arrive together");
  // With a NIC for each GPU nothing is shared.
  check(plan_of(Op::all_reduce, "hierarchical", 1e6, make_cluster("star", 8, 8, 8))
            .choose(Fidelity::automatic, false),
        Fidelity::steps, true, "no link carries two messages at once; ends depend on arrivals");
}

TEST_CASE("auto for a group: what others on its nodes may send at once is not left out") {
  const Cluster cluster = make_cluster("star", 8, 4);
  const auto of = [&](const Cluster& on, const std::vector<int>& ranks, Fidelity asked) {
    const ScheduleRequest request{static_cast<int>(ranks.size()), 1e6, 0, ranks_per_node(on, ranks)};
    const SchedulePlugin* plugin = find_schedule(Op::all_reduce, "recursive_doubling");
    return Plan(plugin->make(request), on, ranks, 1e6).choose(asked, false);
  };
  const std::string others = "other GPUs of its nodes may send over the same links at once";
  // The first GPU of every node: three others have the same NIC.
  const std::vector<int> first = {0, 4, 8, 12, 16, 20, 24, 28};
  check(of(cluster, first, Fidelity::automatic), Fidelity::messages, true, others);
  check(of(cluster, first, Fidelity::steps), Fidelity::steps, false, "asked for, but approximate: " + others);
  check(of(cluster, first, Fidelity::closed), Fidelity::closed, false,
        "asked for, but approximate: " + others);
  check(of(cluster, first, Fidelity::flows), Fidelity::flows, true, "asked for");
  // A node by itself, and GPUs with a NIC each, meet nobody; nor does who has the node alone.
  CHECK(of(cluster, {4, 5, 6, 7}, Fidelity::automatic).fidelity == Fidelity::closed);
  CHECK(of(make_cluster("star", 8, 4, 4), first, Fidelity::automatic).fidelity == Fidelity::closed);
  CHECK(of(star(8), {0, 2, 4, 6}, Fidelity::automatic).fidelity == Fidelity::closed);
}

TEST_CASE("auto on an oversubscribed fat tree") {
  // In node order a ring crosses each uplink once; switches have no latency here, so that all its messages
  // are equal.
  check(ring(narrow_tree(8, {})).choose(Fidelity::automatic, false), Fidelity::closed, true,
        "dedicated, equal links: the closed form holds for any arrival");
  // By turns between the leaves, four of its messages share the uplink: 2 x 7 x 8 = 112 messages.
  check(ring(narrow_tree(8, interleaved(8))).choose(Fidelity::automatic, false), Fidelity::messages, true,
        "up to 4 messages share a link");
  // 32 ranks on eight leaves: 2 x 31 x 32 messages.
  check(
      ring(narrow_tree(32, interleaved(32))).choose(Fidelity::automatic, false), Fidelity::flows, false,
      "up to 4 messages share a link; 1984 messages are too many one by one, so each ring's are aggregated: exact when all arrive together");
  // Recursive doubling repeats no stage, so flows are its messages.
  check(plan_of(Op::all_reduce, "recursive_doubling", 1e6, narrow_tree(64, {}))
            .choose(Fidelity::automatic, false),
        Fidelity::flows, true, "up to 4 messages share a link; every stage happens once");
}

TEST_CASE("what was asked for is taken; the choice says whether it is exact") {
  const Plan equal = ring(star(8)), unequal = ring(uneven_star(8, 1));
  const Plan shared = ring(narrow_tree(8, interleaved(8)));
  const Plan tree = plan_of(Op::all_reduce, "tree", 1e6, star(8));
  check(equal.choose(Fidelity::closed, false), Fidelity::closed, true, "asked for");
  check(tree.choose(Fidelity::closed, false), Fidelity::closed, true,
        "asked for; exact when all arrive together");
  check(equal.choose(Fidelity::closed, true), Fidelity::closed, false,
        "asked for, but approximate: latencies jitter");
  check(unequal.choose(Fidelity::closed, false), Fidelity::closed, false,
        "asked for, but approximate: links are unequal");
  check(shared.choose(Fidelity::closed, false), Fidelity::closed, false,
        "asked for, but approximate: up to 4 messages share a link");
  check(unequal.choose(Fidelity::steps, true), Fidelity::steps, true, "asked for");
  check(shared.choose(Fidelity::steps, false), Fidelity::steps, false,
        "asked for, but approximate: up to 4 messages share a link");
  check(equal.choose(Fidelity::flows, false), Fidelity::flows, true, "asked for");
  check(equal.choose(Fidelity::flows, true), Fidelity::flows, false,
        "asked for, but approximate: latencies jitter");
  check(shared.choose(Fidelity::flows, false), Fidelity::flows, true,
        "asked for; exact when all arrive together");
  check(unequal.choose(Fidelity::flows, false), Fidelity::flows, false,
        "asked for, but approximate: links or shares are unequal");
  check(shared.choose(Fidelity::messages, true), Fidelity::messages, true, "asked for");
}

TEST_CASE("what token buckets hold from operation to operation, only messages one by one see") {
  const std::string why = "NICs have token buckets", full = ", taken to be full when an operation begins";
  Cluster cluster = make_cluster("star", 4), large = make_cluster("star", 32);
  for (Cluster* each : {&cluster, &large}) {
    each->network.between.bandwidth_Bps = kBandwidth;
    each->network.between.burst_bytes = 1e5;
  }
  check(ring(cluster).choose(Fidelity::automatic, false), Fidelity::messages, true, why);
  check(ring(large).choose(Fidelity::automatic, false), Fidelity::steps, false, why + full);
  check(ring(large).choose(Fidelity::closed, false), Fidelity::closed, false,
        "asked for, but approximate: " + why + full);
  check(ring(cluster).choose(Fidelity::flows, false), Fidelity::flows, false,
        "asked for, but approximate: " + why + ", and a ring's messages are aggregated");
  const Plan inside = ring(make_cluster("star", 1, 4));
  check(inside.choose(Fidelity::automatic, false), Fidelity::closed, true,
        "dedicated, equal links: the closed form holds for any arrival");
}

TEST_CASE("where computing slows GPU links, only SimGrid sees it") {
  const std::string why = "GPU links are slower while their GPUs compute";
  Cluster cluster = make_cluster("star", 2, 4);
  cluster.device.communication_share = 0.2;
  const Plan few = ring(cluster);  // 8 ranks: 14 x 8 messages
  const auto choose = [](const Plan& plan, Fidelity asked) {
    return plan.choose(asked, false, Beside::computing);
  };
  check(choose(few, Fidelity::automatic), Fidelity::messages, true, why);
  check(choose(few, Fidelity::messages), Fidelity::messages, true, "asked for");
  check(choose(few, Fidelity::closed), Fidelity::closed, false, "asked for, but approximate: " + why);
  check(choose(few, Fidelity::steps), Fidelity::steps, false, "asked for, but approximate: " + why);
  const std::string aggregated =
      " messages are aggregated: exact when all arrive together and one link is the bottleneck all the time";
  check(choose(few, Fidelity::flows), Fidelity::flows, false,
        "asked for, but approximate: " + why + "; 112" + aggregated);
  Cluster large = make_cluster("star", 4, 4);
  large.device.communication_share = 0.2;
  check(choose(ring(large), Fidelity::automatic), Fidelity::flows, false, why + "; 480" + aggregated);
  // A tree's messages happen once.
  check(choose(plan_of(Op::broadcast, "tree", 1e6, cluster), Fidelity::flows), Fidelity::flows, true,
        "asked for; every stage happens once");
}

TEST_CASE("that is all as ever where nobody computes, the share is 1, or no GPU's link is used") {
  Cluster cluster = make_cluster("star", 2, 4);
  const Plan whole = ring(cluster);
  cluster.device.communication_share = 0.2;
  const FidelityChoice alone = ring(cluster).choose(Fidelity::automatic, false);  // simsgd bench
  const FidelityChoice beside = whole.choose(Fidelity::automatic, false, Beside::computing);
  for (const FidelityChoice& choice : {alone, beside})
    check(choice, Fidelity::steps, true, "no link carries two messages at once; links are unequal");
  Cluster single = star(8);  // one GPU per node
  single.device.communication_share = 0.2;
  check(ring(single).choose(Fidelity::automatic, false, Beside::computing), Fidelity::messages, true,
        "GPU links are slower while their GPUs compute");
  single.network.inside.bandwidth_Bps = 5 * kBandwidth;  // a fifth of it is all that the NIC has
  check(ring(single).choose(Fidelity::automatic, false, Beside::computing), Fidelity::closed, true,
        "dedicated, equal links: the closed form holds for any arrival");
  Cluster one = star(1);
  one.device.communication_share = 0.2;
  check(ring(one).choose(Fidelity::automatic, false, Beside::computing), Fidelity::closed, true, "one rank");
}

}  // namespace simsgd::test::collectives_fidelity_choices

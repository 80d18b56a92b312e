// Times of schedules on dedicated, equal links against their closed forms, written out by hand.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "naive.hpp"
#include "support.hpp"

namespace simsgd::test::collectives_closed_forms {

using Op = CollectiveOp;

namespace {

constexpr double kBytes = 1e7 + 3;  // no multiple of P
constexpr double kBeta = 1 / kBandwidth;

double time_of(Op op, const char* schedule, int ranks, double bytes = kBytes) {
  return plan_of(op, schedule, bytes, star(ranks)).dedicated_time_s();
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

}  // namespace

TEST_CASE("a ring takes 2 (P-1) (alpha + m/P beta), half of that for one of its phases") {
  for (const int ranks : {1, 2, 3, 8, 17, 32, 1024}) {
    CAPTURE(ranks);
    const double phase = (ranks - 1) * (kAlpha + kBytes / ranks * kBeta);
    CHECK(close(time_of(Op::all_reduce, "ring", ranks), 2 * phase));
    CHECK(close(time_of(Op::reduce_scatter, "ring", ranks), phase));
    CHECK(close(time_of(Op::all_to_all, "pairwise", ranks), phase));
    CHECK(close(time_of(Op::all_gather, "ring", ranks), phase));
  }
}

TEST_CASE("recursive doubling takes log2 P (alpha + m beta), and 2 (alpha + m beta) more unless P = 2^n") {
  const double exchange = kAlpha + kBytes * kBeta;
  for (const int n : {1, 2, 3, 5})
    CHECK(close(time_of(Op::all_reduce, "recursive_doubling", 1 << n), n * exchange));
  CHECK(close(time_of(Op::all_reduce, "recursive_doubling", 3), (2 + 1) * exchange));
  CHECK(close(time_of(Op::all_reduce, "recursive_doubling", 13), (2 + 3) * exchange));
}

TEST_CASE(
    "Rabenseifner takes 2 log2 P alpha + 2 (P-1)/P m beta, and 2 (alpha + m beta) more unless P = 2^n") {
  const auto power = [](int n) {
    const int ranks = 1 << n;
    return 2 * n * kAlpha + 2.0 * (ranks - 1) / ranks * kBytes * kBeta;
  };
  for (const int n : {1, 2, 3, 5}) CHECK(close(time_of(Op::all_reduce, "rabenseifner", 1 << n), power(n)));
  for (const int ranks : {9, 15})  // both fold onto 8
    CHECK(close(time_of(Op::all_reduce, "rabenseifner", ranks), power(3) + 2 * (kAlpha + kBytes * kBeta)));
}

TEST_CASE("recursive halving takes log2 P alpha + (P-1)/P m beta") {
  for (const int n : {1, 2, 5}) {
    const int ranks = 1 << n;
    CHECK(close(time_of(Op::reduce_scatter, "recursive_halving", ranks),
                n * kAlpha + (ranks - 1.0) / ranks * kBytes * kBeta));
  }
}

TEST_CASE("binomial trees take ceil(log2 P) (alpha + m beta), there and back twice that") {
  const struct { int ranks, levels; } cases[] = {{2, 1}, {3, 2}, {4, 2}, {5, 3}, {9, 4}, {16, 4}, {17, 5}};
  for (const auto& [ranks, levels] : cases) {
    CAPTURE(ranks);
    const double expected = levels * (kAlpha + kBytes * kBeta);
    CHECK(close(time_of(Op::broadcast, "tree", ranks), expected));
    CHECK(close(time_of(Op::reduce, "tree", ranks), expected));
    CHECK(close(time_of(Op::all_reduce, "tree", ranks), 2 * expected));
  }
}

TEST_CASE("scatter and all-gather take (log2 P + P-1) alpha + 2 (P-1)/P m beta") {
  for (const int n : {1, 2, 3, 6}) {
    const int ranks = 1 << n;
    CHECK(close(time_of(Op::broadcast, "scatter_all_gather", ranks),
                (n + ranks - 1) * kAlpha + 2.0 * (ranks - 1) / ranks * kBytes * kBeta));
  }
  // P = 3: the root gives rank 2 one part, then rank 1 one; then two steps around the ring.
  CHECK(close(time_of(Op::broadcast, "scatter_all_gather", 3), 4 * (kAlpha + kBytes / 3 * kBeta)));
}

TEST_CASE("Bruck's all-gather takes ceil(log2 P) alpha + (P-1)/P m beta, a barrier ceil(log2 P) alpha") {
  const struct { int ranks, steps; } cases[] = {{2, 1}, {3, 2}, {5, 3}, {8, 3}, {11, 4}, {32, 5}};
  for (const auto& [ranks, steps] : cases) {
    CAPTURE(ranks);
    CHECK(close(time_of(Op::all_gather, "bruck", ranks),
                steps * kAlpha + (ranks - 1.0) / ranks * kBytes * kBeta));
    CHECK(close(time_of(Op::barrier, "dissemination", ranks, 0), steps * kAlpha));
  }
}

TEST_CASE("hierarchical: rings on NVLink inside the nodes, a NIC for each ring between them") {
  // N nodes of g = 8 GPUs with 8 NICs: 2 us and 300 GB/s inside, 5 us and 25 GB/s between.
  for (const int nodes : {1, 2, 3, 4}) {
    CAPTURE(nodes);
    const Plan plan = plan_of(Op::all_reduce, "hierarchical", kBytes, make_cluster("star", nodes, 8, 8));
    const double inside = 7 * (2e-6 + kBytes / 8 / 300e9);
    const double between = (nodes - 1) * (5e-6 + kBytes / (8 * nodes) / 25e9);
    CHECK(close(plan.dedicated_time_s(), 2 * inside + 2 * between));
    CHECK(plan.sharing().dedicated);
    CHECK(plan.choose(Fidelity::automatic, false).fidelity == Fidelity::steps);
  }
  // One rank on each of 4 nodes is the flat ring.
  CHECK(close(plan_of(Op::all_reduce, "hierarchical", kBytes, make_cluster("star", 4)).dedicated_time_s(),
              2 * 3 * (kAlpha + kBytes / 4 * kBeta)));
}

TEST_CASE("host costs: launch and pack before, pack after, gamma for every byte added up") {
  Cluster cluster = star(8);
  cluster.host = {3e-6, 1e-10, 10e9, 2e-10};
  const double copy = kBytes * 1e-10 + kBytes / 10e9;
  const double host = 3e-6 + 2 * copy;
  const double step = kAlpha + kBytes / 8 * kBeta;
  // 7 of the 14 steps add up m/8; a message costs its reduction only after it has arrived.
  CHECK(close(plan_of(Op::all_reduce, "ring", kBytes, cluster).dedicated_time_s(),
              host + 14 * step + 7 * kBytes / 8 * 2e-10));
  CHECK(close(plan_of(Op::all_reduce, "recursive_doubling", kBytes, cluster).dedicated_time_s(),
              host + 3 * (kAlpha + kBytes * kBeta + kBytes * 2e-10)));
  CHECK(close(plan_of(Op::all_reduce, "rabenseifner", kBytes, cluster).dedicated_time_s(),
              host + 6 * kAlpha + 2 * 7.0 / 8 * kBytes * kBeta + 7.0 / 8 * kBytes * 2e-10));
  CHECK(close(plan_of(Op::broadcast, "tree", kBytes, cluster).dedicated_time_s(),
              host + 3 * (kAlpha + kBytes * kBeta)));
  // A rank by itself has nothing to do.
  Cluster alone = star(1);
  alone.host = cluster.host;
  CHECK(plan_of(Op::all_reduce, "ring", kBytes, alone).dedicated_time_s() == 0);
}

TEST_CASE("ranks of a tree end when they are through: the closed form knows each one's time") {
  // P = 4, root 0: 0 -> 2, then 0 -> 1 and 2 -> 3. Towards the root: 1 -> 0 and 3 -> 2, then 2 -> 0.
  const double hop = kAlpha + kBytes * kBeta;
  CHECK(plan_of(Op::broadcast, "tree", kBytes, star(4)).dedicated_ends_s() ==
        std::vector<double>{2 * hop, 2 * hop, hop + hop, 2 * hop});
  CHECK(plan_of(Op::reduce, "tree", kBytes, star(4)).dedicated_ends_s() ==
        std::vector<double>{2 * hop, hop, 2 * hop, hop});
  // P = 3: rank 2 has been served first and has no child.
  CHECK(plan_of(Op::broadcast, "tree", kBytes, star(3)).dedicated_ends_s() ==
        std::vector<double>{2 * hop, 2 * hop, hop});
}

TEST_CASE("gTop-k's dense column: 1 Gb/s Ethernet of 0.436 ms, 25 * 2^20 elements (arXiv:1901.04359)") {
  // beta = 3.6e-5 ms for an element of 4 bytes: 111.1 MB/s.
  const double element_s = 3.6e-8;
  const struct {
    int ranks;
    const char* printed_ms;
  } cases[] = {{4, "1418.2"}, {8, "1657.6"}, {16, "1782.6"}, {32, "1855.5"}, {64, "1912.9"}, {128, "1983.4"}};
  for (const auto& [ranks, printed_ms] : cases) {
    const auto n = static_cast<std::size_t>(ranks);
    const Cluster ethernet =
        cluster_of_ports(std::vector<double>(n, 0.436e-3), std::vector<double>(n, 4 / element_s));
    const double elements = 25.0 * 1024 * 1024;
    const Plan plan = plan_of(Op::all_reduce, "ring", 4 * elements, ethernet);
    CAPTURE(ranks);
    CHECK(close(plan.dedicated_time_s(),
                2 * (ranks - 1) * 0.436e-3 + 2.0 * (ranks - 1) / ranks * elements * element_s));
    CHECK(fmt::format("{:.1f}", plan.dedicated_time_s() * 1e3) == printed_ms);
    CHECK(plan.choose(Fidelity::automatic, false).fidelity == Fidelity::closed);
  }
}

// Laws of the recurrence, for every schedule: it is monotone and homogeneous (a linear map of max-plus
// algebra), and symmetric where the network is.

namespace {

constexpr double kRounding = 1e-13;  // relative to the latest end

/// Calls `check(plan maker, ranks)` for every schedule on a few numbers of ranks.
template <class Body>
void for_each_schedule(const Body& body) {
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    for (const int ranks : {2, 5, 8, 12}) {
      if (plugin.info.name == "recursive_halving" && power_of_two_below(ranks) != ranks) continue;
      CAPTURE(op_name(plugin.op));
      CAPTURE(plugin.info.name);
      CAPTURE(ranks);
      body([&plugin](const Cluster& cluster) { return plan_of(plugin.op, plugin.info.name, 1e6, cluster); },
           ranks);
    }
  }
}

bool nowhere_earlier(const std::vector<double>& later, const std::vector<double>& earlier) {
  const double tolerance = kRounding * *std::max_element(later.begin(), later.end());
  for (std::size_t i = 0; i < later.size(); ++i)
    if (later[i] < earlier[i] - tolerance) return false;
  return true;
}

}  // namespace

TEST_CASE("more bandwidth or less latency on any link never makes any rank later") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Cluster cluster = uneven_star(ranks, 5);
    const std::vector<double> arrivals = spread(ranks, 1e-4, 20);
    const std::vector<double> ends = ends_of(plan_on(cluster), arrivals);
    for (std::size_t link = 0; link < cluster.network.links.size(); link += 2) {
      CAPTURE(link);
      Cluster faster = cluster;
      faster.network.links[link].bandwidth_Bps *= 1.7;
      CHECK(nowhere_earlier(ends, ends_of(plan_on(faster), arrivals)));
      Cluster sooner = cluster;
      sooner.network.links[link].latency_s *= 0.3;
      CHECK(nowhere_earlier(ends, ends_of(plan_on(sooner), arrivals)));
    }
  });
}

TEST_CASE("delaying one arrival never makes anyone earlier") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 6));
    const std::vector<double> arrivals = spread(ranks, 1e-4, 21);
    const std::vector<double> ends = ends_of(plan, arrivals);
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
      CAPTURE(rank);
      std::vector<double> delayed = arrivals;
      delayed[rank] += 1e-3;
      const std::vector<double> after = ends_of(plan, delayed);
      CHECK(nowhere_earlier(after, ends));
      // And nobody is delayed by more than the latecomer was.
      std::vector<double> shifted = ends;
      for (double& end : shifted) end += 1e-3;
      CHECK(nowhere_earlier(shifted, after));
    }
  });
}

TEST_CASE("shifting all arrivals by d shifts all ends by d, also with jitter") {
  const JitterTable table(lognormal(2e-6, 1.0));
  const JitterDraws draws{&table, 3, 1, 4};
  for_each_schedule([&](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 7));
    const std::vector<double> arrivals = spread(ranks, 1e-4, 22);
    for (const double shift : {1e-6, 0.125, 3.0}) {
      std::vector<double> shifted = arrivals;
      for (double& arrival : shifted) arrival += shift;
      for (const JitterDraws* jitter : {static_cast<const JitterDraws*>(nullptr), &draws}) {
        std::vector<double> ends = ends_of(plan, arrivals, jitter);
        for (double& end : ends) end += shift;
        CHECK(worst_difference(ends_of(plan, shifted, jitter), ends) < kRounding);
      }
    }
  });
}

TEST_CASE("ends are the maximum over who came last: the recurrence is linear in max-plus algebra") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 8));
    const std::vector<double> a = spread(ranks, 1e-3, 23), b = spread(ranks, 1e-3, 24);
    const auto larger = [](const std::vector<double>& x, const std::vector<double>& y) {
      std::vector<double> both;
      for (std::size_t i = 0; i < x.size(); ++i) both.push_back(std::max(x[i], y[i]));
      return both;
    };
    CHECK(worst_difference(ends_of(plan, larger(a, b)), larger(ends_of(plan, a), ends_of(plan, b))) <
          kRounding);
  });
}

TEST_CASE("on equal links a schedule that ends together ends T after the last arrival, at every rank") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(star(ranks));
    const std::vector<double> arrivals = spread(ranks, 1e-3, 25);
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    const std::vector<double> ends = ends_of(plan, arrivals);
    CHECK(*std::max_element(ends.begin(), ends.end()) <= (last + plan.dedicated_time_s()) * (1 + kRounding));
    if (!plan.schedule().ends_together) return;
    std::vector<double> closed;
    plan.ends_by_closed_form(arrivals, closed);
    CHECK(worst_difference(ends, closed) < kRounding);
    for (const double end : ends) CHECK(std::fabs(end - last - plan.dedicated_time_s()) < kRounding * end);
  });
}

TEST_CASE("no rank ends before its own messages could have passed, nor after everything done in turn") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 9));
    const std::vector<double> arrivals = spread(ranks, 1e-3, 26);
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    const std::vector<double> ends = ends_of(plan, arrivals);
    double slowest = 0;
    std::vector<double> own(arrivals);
    for (std::size_t s = 0; s < plan.stages(); ++s) {
      const Stage& stage = plan.schedule().stages[s];
      double most = 0;
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (stage.to[i] < 0) continue;
        own[i] += stage.repeat * plan.stage(s).message_s(i);
        most = std::max(most, plan.stage(s).message_s(i));
      }
      slowest += stage.repeat * most;
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(ends[i] >= own[i] * (1 - kRounding));
      CHECK(ends[i] <= (last + slowest) * (1 + kRounding));
    }
  });
}

TEST_CASE("turning equal ranks of a ring around the ring turns their ends") {
  const Plan plan = plan_of(CollectiveOp::all_gather, "ring", 1e6, star(7));
  std::vector<double> arrivals = spread(7, 1e-3, 27);
  std::vector<double> ends = ends_of(plan, arrivals);
  std::rotate(arrivals.begin(), arrivals.begin() + 3, arrivals.end());
  std::rotate(ends.begin(), ends.begin() + 3, ends.end());
  CHECK(ends_of(plan, arrivals) == ends);
}

// What a plan says of links and bytes: who carries how much, where messages meet, and the estimate that
// shares links evenly.

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

}  // namespace simsgd::test::collectives_closed_forms

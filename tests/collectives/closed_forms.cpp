// Times of schedules on dedicated, equal links against their closed forms, written out by hand.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

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

}  // namespace simsgd::test::collectives_closed_forms

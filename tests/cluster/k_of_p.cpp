#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_k_of_p {

namespace {

std::set<int> late(const Stragglers& all, int workers, std::uint64_t step) {
  std::set<int> ranks;
  for (int rank = 0; rank < workers; ++rank)
    if (all.at(1, rank, workers, step, 1.0).delay_s > 0) ranks.insert(rank);
  return ranks;
}

std::string k_of_p(int k, const std::string& more = "") {
  return R"({"name": "k_of_p", "k": )" + std::to_string(k) + R"(, "delay": "320 ms")" + more + "}";
}

}  // namespace

TEST_CASE("distinct: exactly k workers are late in every step, by the delay") {
  for (const int k : {0, 1, 3, 8}) {
    CAPTURE(k);
    const Stragglers all = stragglers(k_of_p(k), 8);
    for (std::uint64_t step = 1; step <= 200; ++step) {
      const std::set<int> ranks = late(all, 8, step);
      REQUIRE(ranks.size() == static_cast<std::size_t>(k));
      for (const int rank : ranks) CHECK(all.at(1, rank, 8, step, 1.0).delay_s == 0.32);
    }
  }
}

TEST_CASE("distinct: every set of two out of five workers is late equally often") {
  // 10 sets in 10,000 steps: 1,000 each, standard deviation sqrt(10,000 x 0.1 x 0.9) = 30.
  const Stragglers all = stragglers(k_of_p(2), 5);
  std::map<std::set<int>, int> count;
  for (std::uint64_t step = 1; step <= 10000; ++step) ++count[late(all, 5, step)];
  REQUIRE(count.size() == 10);
  for (const auto& [ranks, times] : count) CHECK(std::abs(times - 1000) < 4 * 30);
}

TEST_CASE("distinct: every rank is late equally often") {
  // 3 of 8 in 8,000 steps: 3,000 each, standard deviation sqrt(8,000 x 3/8 x 5/8) = 43.3.
  const Stragglers all = stragglers(k_of_p(3), 8);
  std::map<int, int> count;
  for (std::uint64_t step = 1; step <= 8000; ++step)
    for (const int rank : late(all, 8, step)) ++count[rank];
  for (int rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    CHECK(std::abs(count[rank] - 3000) < 4 * 43.3);
  }
}

TEST_CASE("whoever is late among k is late among k + 1, in either draw") {
  for (const char* draw : {R"(, "draw": "distinct")", R"(, "draw": "independent")"}) {
    CAPTURE(draw);
    const Stragglers few = stragglers(k_of_p(2, draw), 16);
    const Stragglers more = stragglers(k_of_p(3, draw), 16);
    for (std::uint64_t step = 1; step <= 100; ++step)
      for (const int rank : late(few, 16, step)) CHECK(late(more, 16, step).contains(rank));
  }
}

TEST_CASE("independent: each worker is late with probability 1 - (1 - 1/P)^k") {
  // k = 2: P = 4 gives 1 - (3/4)^2 = 0.4375, P = 64 gives 0.031005859375, P = 1 gives 1.
  const std::map<int, double> expected = {{1, 1.0}, {4, 0.4375}, {64, 0.031005859375}};
  for (const auto& [workers, rate] : expected) {
    CAPTURE(workers);
    const Stragglers all = stragglers(k_of_p(2, R"(, "draw": "independent")"), workers);
    const int steps = 40000 / workers;
    double total = 0;
    std::set<std::size_t> sizes;
    for (int step = 1; step <= steps; ++step) {
      const std::size_t count = late(all, workers, static_cast<std::uint64_t>(step)).size();
      total += static_cast<double>(count);
      sizes.insert(count);
    }
    const double draws = static_cast<double>(steps) * workers;
    CHECK(std::fabs(total / draws - rate) <= 4 * std::sqrt(rate * (1 - rate) / draws));
    if (workers > 1) CHECK(sizes.size() > 2);
  }
}

TEST_CASE("k of the listed workers: the others are never late") {
  const Stragglers all = stragglers(k_of_p(2, R"(, "workers": [6, 1, 4])"), 8);
  std::set<int> seen;
  for (std::uint64_t step = 1; step <= 100; ++step) {
    const std::set<int> ranks = late(all, 8, step);
    CHECK(ranks.size() == 2);
    seen.insert(ranks.begin(), ranks.end());
  }
  CHECK(seen == std::set<int>{1, 4, 6});
}

TEST_CASE("the delay may be a distribution, which does not change who is late") {
  const Stragglers fixed = stragglers(k_of_p(2), 8);
  const Stragglers drawn =
      stragglers(R"({"name": "k_of_p", "k": 2, "delay": {"name": "exponential", "mean": "320 ms"}})", 8);
  Sample delays;
  for (std::uint64_t step = 1; step <= 4000; ++step) {
    CHECK(late(fixed, 8, step) == late(drawn, 8, step));
    for (const int rank : late(drawn, 8, step)) delays.add(drawn.at(1, rank, 8, step, 1.0).delay_s);
  }
  CHECK(delays.agrees_with(0.32));
}

TEST_CASE("a relative delay is a multiple of the compute time") {
  const Stragglers all = stragglers(R"({"name": "k_of_p", "k": 4, "delay": 0.5, "relative": true})", 4);
  CHECK(all.at(1, 0, 4, 1, 0.6).delay_s == 0.3);
}

}  // namespace simsgd::test::cluster_k_of_p

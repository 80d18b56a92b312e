// The options that every straggler has: workers, count, share, of, probability, from_step, to_step (relative:
// stragglers.cpp).
#include <doctest/doctest.h>

#include <set>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_options {

namespace {

double delay(const Stragglers& all, int rank, std::uint64_t step) {
  return all.at(1, rank, 8, step, 1.0).delay_s;
}

}  // namespace

TEST_CASE("\"workers\" limits a straggler to the ranks listed, without changing their draws") {
  const Stragglers all = stragglers(R"({"name": "exponential", "mean": 1})", 8);
  const Stragglers some = stragglers(R"({"name": "exponential", "mean": 1, "workers": [5, 2]})", 8);
  for (int rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    CHECK(delay(some, rank, 1) == (rank == 2 || rank == 5 ? delay(all, rank, 1) : 0));
  }
}

TEST_CASE("\"from_step\" and \"to_step\" are the first and the last step affected") {
  const Stragglers all = stragglers(R"({"name": "constant", "delay": 1, "from_step": 3, "to_step": 5})", 8);
  const double expected[] = {0, 0, 1, 1, 1, 0, 0};
  for (std::uint64_t step = 1; step <= 7; ++step) {
    CAPTURE(step);
    CHECK(delay(all, 0, step) == expected[step - 1]);
  }
  CHECK(delay(stragglers(R"({"name": "constant", "delay": 1, "from_step": 3})", 8), 0, 1000000) == 1);
  CHECK(delay(stragglers(R"({"name": "constant", "delay": 1, "to_step": 3})", 8), 0, 1) == 1);
}

TEST_CASE("\"probability\" is the share of steps in which the straggler applies") {
  // 0.2 of 20,000 draws: standard error sqrt(0.2 x 0.8 / 20,000) = 0.0028.
  const Stragglers all = stragglers(R"({"name": "constant", "delay": 1, "probability": 0.2})", 8);
  Sample applied;
  for (int rank = 0; rank < 8; ++rank)
    for (std::uint64_t step = 1; step <= 2500; ++step) applied.add(delay(all, rank, step));
  CHECK(applied.agrees_with(0.2));
}

TEST_CASE("\"probability\" 0 never applies, 1 always") {
  const Stragglers never = stragglers(R"({"name": "constant", "delay": 1, "probability": 0})", 8);
  const Stragglers always = stragglers(R"({"name": "constant", "delay": 1, "probability": 1})", 8);
  for (std::uint64_t step = 1; step <= 100; ++step) {
    CHECK(delay(never, 0, step) == 0);
    CHECK(delay(always, 0, step) == 1);
  }
}

TEST_CASE("whether a straggler applies says nothing about how long its delay is") {
  const Stragglers always = stragglers(R"({"name": "exponential", "mean": 1})", 8);
  const Stragglers seldom = stragglers(R"({"name": "exponential", "mean": 1, "probability": 0.25})", 8);
  Sample applied;
  for (int rank = 0; rank < 8; ++rank)
    for (std::uint64_t step = 1; step <= 2500; ++step) {
      if (delay(seldom, rank, step) == 0) continue;
      CHECK(delay(seldom, rank, step) == delay(always, rank, step));
      applied.add(delay(seldom, rank, step));
    }
  CHECK(applied.agrees_with(1));
}

TEST_CASE("defaults that a loader writes out change nothing") {
  const Stragglers bare = stragglers(R"({"name": "exponential", "mean": 1})", 8);
  const Stragglers full = stragglers(
      R"({"name": "exponential", "mean": 1, "workers": [0, 1, 2, 3, 4, 5, 6, 7], "relative": false, "probability": 1,
          "from_step": 1})",
      8);
  for (std::uint64_t step = 1; step <= 20; ++step) CHECK(delay(bare, 4, step) == delay(full, 4, step));
}

namespace {

/// Ranks that are late in a step.
std::vector<int> late(const Stragglers& all, int workers, std::uint64_t step, std::uint64_t seed) {
  std::vector<int> ranks;
  for (int rank = 0; rank < workers; ++rank)
    if (all.at(seed, rank, workers, step, 1.0).delay_s > 0) ranks.push_back(rank);
  return ranks;
}

}  // namespace

TEST_CASE("\"count\" and \"share\" draw workers once, the same in every step") {
  const char* two = R"({"name": "constant", "delay": 1, "count": 2})";
  std::set<std::vector<int>> drawn;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const Stragglers all = stragglers(two, 16, seed);
    const std::vector<int> ranks = late(all, 16, 1, seed);
    CHECK(ranks.size() == 2);
    for (std::uint64_t step = 2; step <= 5; ++step) CHECK(late(all, 16, step, seed) == ranks);
    drawn.insert(ranks);
  }
  CHECK(drawn.size() > 10);  // of 120 pairs
  const auto share = [](const char* value, int workers) {
    return late(stragglers(std::string(R"({"name": "constant", "delay": 1, "share": )") + value + "}",
                           workers),
                workers, 1, 1)
        .size();
  };
  CHECK(share("0.1", 20) == 2);
  CHECK(share("0.1", 16) == 2);  // 1.6
  CHECK(share("0.1", 4) == 1);   // at least one
  CHECK(share("1", 4) == 4);
}

TEST_CASE("\"of\": \"nodes\" draws nodes with all their workers; two stragglers draw apart") {
  const std::vector<int> node_of_rank = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  const char* nodes = R"({"name": "constant", "delay": 1, "count": 2, "of": "nodes"})";
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const std::vector<int> ranks = late(stragglers(nodes, 16, seed, node_of_rank), 16, 1, seed);
    std::set<int> touched;
    for (const int rank : ranks) touched.insert(node_of_rank[static_cast<std::size_t>(rank)]);
    CHECK(ranks.size() == 8);
    CHECK(touched.size() == 2);
  }
  const char* both =
      R"([{"name": "constant", "delay": 1, "count": 2}, {"name": "constant", "delay": 1, "count": 2}])";
  int more = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    more += late(stragglers(both, 16, seed), 16, 1, seed).size() > 2;
  CHECK(more >= 5);
}

TEST_CASE("k_of_p chooses its k anew in each step from the workers that were drawn") {
  const Stragglers all = stragglers(R"({"name": "k_of_p", "k": 1, "delay": 1, "count": 3})", 16);
  std::set<int> ranks;
  for (std::uint64_t step = 1; step <= 100; ++step) {
    const std::vector<int> one = late(all, 16, step, 1);
    REQUIRE(one.size() == 1);
    ranks.insert(one.front());
  }
  CHECK(ranks.size() == 3);
}

}  // namespace simsgd::test::cluster_options

// How stragglers compose, and that one never changes what another draws.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_stragglers {

namespace {

const std::string kExponential = R"({"name": "exponential", "mean": 1})";

double delay(const Stragglers& all, int rank, std::uint64_t step, std::uint64_t seed = 1) {
  return all.at(seed, rank, 8, step, 1.0).delay_s;
}

}  // namespace

TEST_CASE("without stragglers nobody is late") {
  const Straggle none = Stragglers().at(1, 0, 8, 1, 1.0);
  CHECK(none.delay_s == 0);
  CHECK(none.factor == 1);
}

TEST_CASE("delays add up and factors multiply") {
  const Stragglers all = stragglers(R"([{"name": "constant", "factor": 2, "delay": "100 ms"},
                                        {"name": "constant", "factor": 1.5, "workers": [3]},
                                        {"name": "constant", "delay": "50 ms"}])",
                                    8);
  CHECK(all.at(1, 0, 8, 1, 1.0).factor == 2);
  CHECK(all.at(1, 3, 8, 1, 1.0).factor == 3);
  CHECK(all.at(1, 3, 8, 1, 1.0).delay_s == doctest::Approx(0.15));
}

TEST_CASE("a constant delay may be relative to the compute time; its factor always is") {
  const Stragglers all =
      stragglers(R"({"name": "constant", "factor": 2, "delay": 0.25, "relative": true})", 8);
  CHECK(all.at(1, 0, 8, 1, 0.4).delay_s == 0.1);
  CHECK(all.at(1, 0, 8, 1, 0.4).factor == 2);
}

TEST_CASE("a relative distribution draws multiples of the compute time") {
  const Stragglers seconds = stragglers(kExponential, 8);
  const Stragglers relative = stragglers(R"({"name": "exponential", "mean": 1, "relative": true})", 8);
  CHECK(relative.at(1, 2, 8, 5, 0.125).delay_s == 0.125 * seconds.at(1, 2, 8, 5, 0.125).delay_s);
}

TEST_CASE("the same seed, rank and step always draw the same, others draw something else") {
  const Stragglers all = stragglers(kExponential, 8);
  std::set<double> draws;
  for (int rank = 0; rank < 8; ++rank)
    for (std::uint64_t step = 1; step <= 50; ++step) {
      CHECK(delay(all, rank, step) == delay(stragglers(kExponential, 8), rank, step));
      draws.insert(delay(all, rank, step));
      draws.insert(delay(all, rank, step, 2));
    }
  CHECK(draws.size() == 8 * 50 * 2);
}

TEST_CASE("a second model does not shift the draws of the first, and draws its own") {
  const Stragglers alone = stragglers(kExponential, 8);
  const Stragglers both = stragglers("[" + kExponential + "," + kExponential + "]", 8);
  const Stragglers second = stragglers(R"([{"name": "constant", "delay": 0},)" + kExponential + "]", 8);
  for (std::uint64_t step = 1; step <= 50; ++step) {
    CHECK(delay(both, 3, step) == delay(alone, 3, step) + delay(second, 3, step));
    CHECK(delay(alone, 3, step) != delay(second, 3, step));
  }
}

TEST_CASE("a draw depends neither on the number of workers nor on the order of asking") {
  const Stragglers small = stragglers(kExponential, 8);
  const Stragglers large = stragglers(kExponential, 1024);
  for (std::uint64_t step = 20; step >= 1; --step)
    CHECK(large.at(1, 7, 1024, step, 1.0).delay_s == small.at(1, 7, 8, step, 1.0).delay_s);
}

TEST_CASE("twice the mean is twice the delay in every draw") {
  const Stragglers once = stragglers(kExponential, 8);
  const Stragglers twice = stragglers(R"({"name": "exponential", "mean": 2})", 8);
  for (std::uint64_t step = 1; step <= 50; ++step) CHECK(delay(twice, 1, step) == 2 * delay(once, 1, step));
}

TEST_CASE("every distribution of delays is a straggler under its own name") {
  std::set<std::string> kinds;
  for (const StragglerPlugin& plugin : straggler_plugins()) kinds.insert(plugin.info.name);
  for (const DistributionPlugin& plugin : distribution_plugins()) CHECK(kinds.contains(plugin.info.name));
  CHECK(kinds.contains("k_of_p"));
  CHECK(kinds.contains("trace"));
}

TEST_CASE("every kind describes its parameters and has the common options") {
  for (const StragglerPlugin& plugin : straggler_plugins()) {
    CAPTURE(plugin.info.name);
    CHECK(!plugin.info.summary.empty());
    Json form;
    plugin.form(form);
    for (const auto& [key, schema] : form["properties"].items()) {
      CAPTURE(key);
      CHECK(!schema.value("description", "").empty());
    }
    for (const std::string key : form["required"]) CHECK(form["properties"].contains(key));
    for (const char* key : {"workers", "relative", "probability", "from_step", "to_step"})
      CHECK(form["properties"].contains(key));
  }
}

TEST_CASE("a step beyond 2^38 is a defect of the caller") {
  CHECK_THROWS_AS(delay(stragglers(kExponential, 8), 0, std::uint64_t{1} << 38), std::logic_error);
}

// The options that every straggler has: workers, count, share, of, probability, from_step, to_step.

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

}  // namespace simsgd::test::cluster_stragglers

// The on/off chain: its shares, durations and transitions against their closed forms.
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_markov {

namespace {

// 10 slow steps and 40 fast ones on average: slow for a fifth of the time.
const std::string kChain = R"({"name": "markov", "slow_steps": 10, "fast_steps": 40, "factor": 3})";

bool slow(const Stragglers& all, int rank, std::uint64_t step) {
  return all.at(1, rank, 64, step, 1.0).factor == 3;
}

}  // namespace

TEST_CASE(
    "a Markov worker is slow for slow_steps / (slow_steps + fast_steps) of the steps, from the first on") {
  const Stragglers all = stragglers(kChain, 20000);
  for (const std::uint64_t step : {1U, 2U, 7U, 1000U}) {
    CAPTURE(step);
    Sample share;
    for (int rank = 0; rank < 20000; ++rank) share.add(slow(all, rank, step) ? 1 : 0);
    CHECK(share.agrees_with(0.2));
  }
}

TEST_CASE("a Markov worker leaves each state with the inverse of its mean duration, whatever came before") {
  const Stragglers all = stragglers(kChain, 64);
  Sample leaves_slow, leaves_fast, leaves_slow_after_two;
  for (int rank = 0; rank < 64; ++rank)
    for (std::uint64_t step = 2; step < 4000; ++step) {
      const bool now = slow(all, rank, step), next = slow(all, rank, step + 1);
      (now ? leaves_slow : leaves_fast).add(now != next ? 1 : 0);
      if (now && slow(all, rank, step - 1)) leaves_slow_after_two.add(next ? 0 : 1);
    }
  CHECK(leaves_slow.agrees_with(0.1));
  CHECK(leaves_slow_after_two.agrees_with(0.1));
  CHECK(leaves_fast.agrees_with(0.025));
}

TEST_CASE("the state of a step does not depend on which steps were asked for before") {
  const Stragglers forward = stragglers(kChain, 4), backward = stragglers(kChain, 4);
  std::vector<bool> seen;
  for (std::uint64_t step = 1; step <= 500; ++step) seen.push_back(slow(forward, 2, step));
  for (std::uint64_t step = 500; step >= 1; --step) CHECK(slow(backward, 2, step) == seen[step - 1]);
}

TEST_CASE("states far into a run cost as little as the first, with durations of a million steps") {
  // A draw per step would take minutes here.
  const Stragglers all =
      stragglers(R"({"name": "markov", "slow_steps": 1e6, "fast_steps": 3e6, "factor": 3})", 64);
  Sample share;
  for (std::uint64_t step = 1; step <= 20000; ++step) share.add(slow(all, 0, step * 10000000) ? 1 : 0);
  CHECK(share.agrees_with(0.25));
}

TEST_CASE("a Markov delay may be a time, or a multiple of the compute time") {
  const Stragglers always =
      stragglers(R"({"name": "markov", "slow_steps": 1e9, "fast_steps": 2, "delay": "20 ms"})", 2);
  const Stragglers relative = stragglers(
      R"({"name": "markov", "slow_steps": 1e9, "fast_steps": 2, "delay": 0.5, "relative": true})", 2);
  CHECK(always.at(1, 0, 2, 5, 0.4).delay_s == doctest::Approx(0.02));
  CHECK(relative.at(1, 0, 2, 5, 0.4).delay_s == doctest::Approx(0.2));
}

TEST_CASE("a Markov chain that changes its state too often is refused, with the remedy") {
  CHECK(
      rejection(
          [] { stragglers(R"({"name": "markov", "slow_steps": 1, "fast_steps": 5, "factor": 2})", 2); }) ==
      "/slow_steps: and \"fast_steps\" are too short: 1/slow_steps + 1/fast_steps is above 1. Make one of them longer, such as 2 and 2; k_of_p draws each step independently");
  CHECK(rejection([] { stragglers(R"({"name": "markov", "slow_steps": 9, "fast_steps": 5})", 2); }) ==
        "/factor: is missing. Give \"factor\", \"delay\" or both");
}

}  // namespace simsgd::test::cluster_markov

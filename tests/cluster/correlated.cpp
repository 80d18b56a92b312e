// The on/off chain: its shares, durations and transitions against their closed forms.
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_correlated {

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

// The persistent factor and the noise that remembers: moments and correlations against what was asked for.

namespace {

double factor(const Stragglers& all, int rank, std::uint64_t step) {
  return all.at(1, rank, 100000, step, 1.0).factor;
}

// Correlation of the factors at two steps over many workers, whose chains are independent.
double correlation(const Stragglers& all, std::uint64_t first, std::uint64_t second) {
  constexpr int kWorkers = 40000;
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (int rank = 0; rank < kWorkers; ++rank) {
    const double a = factor(all, rank, first), b = factor(all, rank, second);
    x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  }
  const double n = kWorkers;
  return (xy / n - x / n * (y / n)) / std::sqrt((xx / n - x / n * (x / n)) * (yy / n - y / n * (y / n)));
}

}  // namespace

TEST_CASE("the noise of ar1 has mean 1, the coefficient of variation asked for, and the lag-1 correlation") {
  const Stragglers all = stragglers(R"({"name": "ar1", "cv": 0.3, "correlation": 0.8})", 100000);
  for (const std::uint64_t step : {1U, 64U, 1000U}) {
    CAPTURE(step);
    Sample mean, square;
    for (int rank = 0; rank < 40000; ++rank) {
      mean.add(factor(all, rank, step));
      square.add(factor(all, rank, step) * factor(all, rank, step));
    }
    CHECK(mean.agrees_with(1));
    CHECK(square.agrees_with(1 + 0.3 * 0.3));
    // The standard error of a correlation over 40,000 workers is below 0.005.
    CHECK(correlation(all, step, step + 1) == doctest::Approx(0.8).epsilon(0.02));
  }
}

TEST_CASE("correlations of ar1 decay as powers, also across the points that the construction starts from") {
  // Small noise: the logarithm's correlation rho is 0.9 to 3 digits. 0.9^H < 1e-18 first at H = 512.
  const Stragglers all = stragglers(R"({"name": "ar1", "cv": 0.01, "correlation": 0.9})", 100000);
  for (const std::uint64_t step : {300U, 511U, 512U, 1020U}) {
    CAPTURE(step);
    CHECK(std::fabs(correlation(all, step, step + 2) - 0.81) < 0.02);
    CHECK(std::fabs(correlation(all, step, step + 10) - 0.3487) < 0.02);
  }
}

TEST_CASE("without correlation each step is drawn anew; the persistent factor stays") {
  const Stragglers anew = stragglers(R"({"name": "ar1", "cv": 0.2})", 100000);
  CHECK(std::fabs(correlation(anew, 5, 6)) < 0.02);
  const Stragglers stays = stragglers(R"({"name": "ar1", "cv": 0, "persistent_cv": 0.1})", 100000);
  Sample mean, square;
  for (int rank = 0; rank < 40000; ++rank) {
    CHECK(factor(stays, rank, 1) == factor(stays, rank, 999));
    mean.add(factor(stays, rank, 1));
    square.add(factor(stays, rank, 1) * factor(stays, rank, 1));
  }
  CHECK(mean.agrees_with(1));
  CHECK(square.agrees_with(1.01));
}

TEST_CASE("what ar1 cannot be is refused, with the remedy") {
  CHECK(rejection([] { stragglers(R"({"name": "ar1", "cv": 0.1, "correlation": 1})", 2); }) ==
        "/correlation: is out of range. Write a number of at least 0 and below 1");
  CHECK(rejection([] { stragglers(R"({"name": "ar1", "cv": 0.1, "relative": true})", 2); }) ==
        "/relative: has no effect without a delay. Leave it out: factors are relative anyway");
}

}  // namespace simsgd::test::cluster_correlated

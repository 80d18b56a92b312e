// The persistent factor and the noise that remembers: moments and correlations against what was asked for.
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_ar1 {

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

}  // namespace simsgd::test::cluster_ar1

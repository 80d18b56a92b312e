// How long a step takes that waits for the slowest worker, or only for the fastest: times against closed
// forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numbers>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_order_statistics {

namespace {

constexpr double kCompute = 0.5;  // c: seconds of a step without stragglers
constexpr std::uint64_t kSteps = 5000;

struct StepTimes {
  Sample slowest;
  Sample fastest;
};

StepTimes step_times(const std::string& straggler, int workers) {
  const Stragglers all = stragglers(straggler, workers);
  StepTimes times;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    double slowest = 0, fastest = 1e300;
    for (int rank = 0; rank < workers; ++rank) {
      const Straggle straggle = all.at(1, rank, workers, step, kCompute);
      const double time = straggle.delay_s + straggle.factor * kCompute;
      slowest = std::max(slowest, time);
      fastest = std::min(fastest, time);
    }
    times.slowest.add(slowest);
    times.fastest.add(fastest);
  }
  return times;
}

/// Trapezoid rule; exact to many digits for what vanishes at both ends.
double integral(double from, double to, const std::function<double(double)>& function) {
  constexpr int kIntervals = 20000;
  double sum = (function(from) + function(to)) / 2;
  for (int i = 1; i < kIntervals; ++i) sum += function(from + (to - from) * i / kIntervals);
  return sum * (to - from) / kIntervals;
}

double standard_normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double standard_normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

}  // namespace

TEST_CASE("exponential delays: the slowest of n takes c + theta H_n, the fastest c + theta / n") {
  for (const int n : {2, 8, 32}) {
    CAPTURE(n);
    const StepTimes times = step_times(R"({"name": "exponential", "mean": "250 ms"})", n);
    double harmonic = 0;  // 1.5, 2.717857, 4.058495
    for (int i = 1; i <= n; ++i) harmonic += 1.0 / i;
    CHECK(times.slowest.agrees_with(kCompute + 0.25 * harmonic));
    CHECK(times.fastest.agrees_with(kCompute + 0.25 / n));
  }
}

TEST_CASE("a shift is added to slowest and fastest") {
  const StepTimes plain = step_times(R"({"name": "exponential", "mean": 0.25})", 8);
  const StepTimes shifted = step_times(R"({"name": "shifted_exponential", "shift": 2, "mean": 0.25})", 8);
  CHECK(shifted.slowest.mean() == doctest::Approx(plain.slowest.mean() + 2).epsilon(1e-12));
  CHECK(shifted.fastest.mean() == doctest::Approx(plain.fastest.mean() + 2).epsilon(1e-12));
}

TEST_CASE("uniform delays on [a, b]: the slowest of n takes c + a + (b - a) n / (n + 1)") {
  for (const int n : {2, 8, 32}) {
    CAPTURE(n);
    const StepTimes times = step_times(R"({"name": "uniform", "minimum": 0.1, "maximum": 0.4})", n);
    CHECK(times.slowest.agrees_with(kCompute + 0.1 + 0.3 * n / (n + 1)));
    CHECK(times.fastest.agrees_with(kCompute + 0.1 + 0.3 / (n + 1)));
  }
}

TEST_CASE(
    "log-normal delays: the slowest of n takes c + the integral of m e^(sigma z) n phi(z) Phi(z)^(n-1)") {
  const double median = 0.2, sigma = 0.5;
  for (const int n : {2, 8, 32}) {
    CAPTURE(n);
    const double slowest = integral(-12, 15, [&](double z) {
      return median * std::exp(sigma * z) * n * standard_normal_density(z) *
             std::pow(standard_normal_cdf(z), n - 1);
    });
    const StepTimes times = step_times(R"({"name": "lognormal", "median": 0.2, "sigma": 0.5})", n);
    CHECK(times.slowest.agrees_with(kCompute + slowest));
  }
}

}  // namespace simsgd::test::cluster_order_statistics

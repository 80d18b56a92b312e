// Families fitted to draws that are made here by other means than the fit's own quantiles.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "analysis/calibration/straggler_families.hpp"
#include "sim/base/random.hpp"

namespace simsgd::test::calibration_straggler_families {

namespace {

using namespace simsgd::calibration;

std::vector<double> draws(int n, std::uint64_t seed, const std::function<double(Stream&)>& draw) {
  Stream stream({seed, Purpose::algorithm, 7, 0});
  std::vector<double> all;
  for (int i = 0; i < n; ++i) all.push_back(draw(stream));
  return all;
}

double exponential(Stream& s) { return -std::log(s.uniform()); }
// Michael, Schucany, Haas, The American Statistician 30, 1976: mean 1, shape lambda.
double inverse_gaussian(Stream& s, double lambda) {
  const double z = s.normal(), y = z * z;
  const double x = 1 + y / (2 * lambda) - std::sqrt(4 * lambda * y + y * y) / (2 * lambda);
  return s.uniform() <= 1 / (1 + x) ? x : 1 / x;
}

struct Law {
  Family family;
  double shape;  // true, as FamilyFit has it
  std::function<double(Stream&)> draw;
};

// Sums of exponentials, powers of exponentials and uniforms: nothing that the fit knows.
const std::vector<Law> kLaws = {
    {Family::lognormal, 0.4, [](Stream& s) { return 3 * std::exp(0.4 * s.normal()); }},
    {Family::gamma, 4,
     [](Stream& s) { return exponential(s) + exponential(s) + exponential(s) + exponential(s); }},
    {Family::weibull, 2.5, [](Stream& s) { return 2 * std::pow(exponential(s), 1 / 2.5); }},
    {Family::exponential, 0, [](Stream& s) { return 0.1 * exponential(s); }},
    {Family::pareto, 3, [](Stream& s) { return 0.5 * std::pow(s.uniform(), -1.0 / 3); }},
    {Family::inverse_gaussian, 2, [](Stream& s) { return inverse_gaussian(s, 2); }},
    {Family::log_laplace, 0.2, [](Stream& s) { return std::exp(0.2 * (exponential(s) - exponential(s))); }},
};

}  // namespace

TEST_CASE("maximum likelihood finds the shape of each family, and AIC the family itself") {
  for (const Law& law : kLaws) {
    CAPTURE(family_name(law.family));
    const std::vector<double> values = draws(4000, 1, law.draw);
    const FamilyFit fit = fit_family(law.family, false, values);
    if (law.shape > 0) CHECK(fit.shape == doctest::Approx(law.shape).epsilon(0.06));
    const FamilyChoice choice = choose_family(values, 0, 1);
    // A family with the truth inside it may win by a hair: its AIC is then at most 2 per parameter better.
    for (const FamilyFit& each : choice.fits)
      if (each.family == law.family && !each.shifted) CHECK(each.aic() - choice.fits.front().aic() < 6);
  }
}

TEST_CASE(
    "the likelihood that is reported is the sum of the logarithms of the density, and no neighbour's is larger") {
  for (const Law& law : kLaws) {
    CAPTURE(family_name(law.family));
    const std::vector<double> values = draws(300, 2, law.draw);
    const FamilyFit fit = fit_family(law.family, false, values);
    const auto likelihood = [&](const FamilyFit& of) {
      double sum = 0;
      for (const double x : values) {
        // The density as the slope of the distribution function.
        const double h = 1e-5 * x;
        sum += std::log((cdf(of, x + h) - cdf(of, x - h)) / (2 * h));
      }
      return sum;
    };
    if (law.family != Family::pareto)  // whose density begins with a jump at the least value
      CHECK(likelihood(fit) == doctest::Approx(fit.log_likelihood).epsilon(1e-4));
    for (const double factor : {0.97, 1.03}) {
      FamilyFit other = fit;
      other.shape *= factor;
      if (law.family != Family::pareto && law.shape > 0) CHECK(likelihood(other) < likelihood(fit));
    }
  }
}

TEST_CASE("quantile and distribution function are each other's inverse, also of small CVs and shifts") {
  for (const Law& law : kLaws)
    for (const bool shifted : {false, true}) {
      CAPTURE(family_name(law.family));
      std::vector<double> values = draws(200, 3, law.draw);
      for (double& each : values) each = 1 + 0.01 * each;
      const FamilyFit fit = fit_family(law.family, shifted, values);
      for (const double p : {0.01, 0.5, 0.99})
        CHECK(cdf(fit, quantile(fit, p)) == doctest::Approx(p).epsilon(1e-6));
    }
}

TEST_CASE("a shift is found: a floor of 10 below log-normal and Weibull times") {
  for (const Law& law : {kLaws[0], kLaws[2], kLaws[3]}) {
    CAPTURE(family_name(law.family));
    std::vector<double> values = draws(4000, 4, law.draw);
    double mean = 0;
    for (double& each : values) mean += (each += 10) / 4000;
    const FamilyFit fit = fit_family(law.family, true, values);
    CHECK(fit.shift == doctest::Approx(10).epsilon(0.1 * (mean - 10) / 10));
    CHECK(fit.aic() < fit_family(law.family, false, values).aic());
  }
}

TEST_CASE("p-values: the true law is rejected about as often as it should be, a wrong one always") {
  int rejected = 0;
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const std::vector<double> values = draws(100, 100 + trial, kLaws[0].draw);
    const Goodness right = goodness(fit_family(Family::lognormal, false, values), values, 60, trial);
    rejected += right.ks_p < 0.1;
    CHECK(right.anderson_darling_p > 0);
    if (trial >= 5) continue;
    const Goodness wrong = goodness(fit_family(Family::exponential, false, values), values, 60, trial);
    CHECK(wrong.ks_p < 0.05);
    CHECK(wrong.anderson_darling_p < 0.05);
  }
  CHECK(rejected <= 10);  // of 40 at 0.1: 4 expected, above 10 with probability 0.0015
}

TEST_CASE("where times have two modes none fits, and the measured quantiles are kept") {
  const std::vector<double> values =
      draws(600, 5, [](Stream& s) { return (s.uniform() < 0.5 ? 1 : 2) + 0.02 * s.normal(); });
  const FamilyChoice choice = choose_family(values, 60, 1);
  CHECK(choice.none_fits);
  CHECK(choice.quantiles.size() == 65);
  CHECK(choice.quantiles[16] == doctest::Approx(1).epsilon(0.05));
  CHECK(choice.quantiles[48] == doctest::Approx(2).epsilon(0.05));
}

TEST_CASE("a series is thinned to where its correlation is below a tenth") {
  // AR(1) of 0.8: 0.8^10 = 0.107, 0.8^11 = 0.086.
  std::vector<std::vector<double>> series(8);
  Stream stream({6, Purpose::algorithm, 0, 0});
  for (auto& each : series)
    for (double z = stream.normal(); each.size() < 5000; z = 0.8 * z + 0.6 * stream.normal())
      each.push_back(z);
  const std::size_t lag = thinning_lag(series);
  CHECK(lag >= 9);
  CHECK(lag <= 12);
  CHECK(thinned({{1, 2, 3, 4, 5}, {6, 7, 8}}, 2) == std::vector<double>{1, 3, 5, 6, 8});
}

TEST_CASE("what has no likelihood is refused") {
  CHECK_THROWS_AS(fit_family(Family::gamma, false, std::vector<double>{1, 2}), std::invalid_argument);
  CHECK_THROWS_AS(fit_family(Family::gamma, false, std::vector<double>{1, 2, 0}), std::invalid_argument);
  CHECK_THROWS_AS(fit_family(Family::gamma, false, std::vector<double>{1, 2, -1}), std::invalid_argument);
  CHECK_THROWS_AS(fit_family(Family::gamma, true, std::vector<double>{2, 2, 2}), std::invalid_argument);
  CHECK_THROWS_AS(
      fit_family(Family::gamma, true, std::vector<double>{2, 3, std::numeric_limits<double>::infinity()}),
      std::invalid_argument);
}

}  // namespace simsgd::test::calibration_straggler_families

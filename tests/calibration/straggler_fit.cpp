// Straggler fits on steps whose parameters are known.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/calibration/straggler_fit.hpp"
#include "sim/base/random.hpp"

namespace simsgd::test::calibration_straggler_fit {

namespace {

using namespace simsgd::calibration;

constexpr StragglerFitOptions kPoint{.draws = 0, .goodness_draws = 0};

// Forward recursions of normals; no plug-in. Fast 3 to 5 % (lag 1: 0.3), slow 4 % (10 steps), common 3 %
// (anew).
StepTable known(std::size_t steps, std::uint64_t seed) {
  Stream stream({seed, Purpose::algorithm, 0, 0});
  StepTable table;
  table.times_s.resize(8);
  std::vector<double> fast(8), slow(8);
  for (int w = 0; w < 8; ++w) {
    table.workers.push_back(w);
    fast[static_cast<std::size_t>(w)] = stream.normal();
    slow[static_cast<std::size_t>(w)] = stream.normal();
  }
  const double rho = std::exp(-0.1);
  for (std::size_t step = 1; step <= steps; ++step) {
    table.steps.push_back(step);
    const double common = 0.03 * stream.normal();
    for (std::size_t w = 0; w < 8; ++w) {
      fast[w] = 0.3 * fast[w] + std::sqrt(1 - 0.09) * stream.normal();
      slow[w] = rho * slow[w] + std::sqrt(1 - rho * rho) * stream.normal();
      table.times_s[w].push_back(0.2 * (w < 2 ? 1.1 : 1) *
                                 std::exp((w % 2 == 0 ? 0.03 : 0.05) * fast[w] + 0.04 * slow[w] + common));
    }
  }
  return table;
}

}  // namespace

TEST_CASE("with many steps every parameter comes back") {
  const StragglerParameters fitted = fit_stragglers(known(6000, 1), kPoint).parameters;
  // Mean of factors: (2 x 1.1 + 6) / 8 = 1.025.
  CHECK(fitted.base_s == doctest::Approx(0.205).epsilon(0.01));
  for (std::size_t w = 0; w < 8; ++w) {
    CAPTURE(w);
    CHECK(fitted.factors[w] == doctest::Approx((w < 2 ? 1.1 : 1) / 1.025).epsilon(0.01));
    CHECK(fitted.fast_cvs[w] == doctest::Approx(w % 2 == 0 ? 0.03 : 0.05).epsilon(0.1));
    CHECK(fitted.slow_cvs[w] == doctest::Approx(0.04).epsilon(0.15));
  }
  CHECK(fitted.fast_correlation == doctest::Approx(0.3).epsilon(0.15));
  CHECK(fitted.slow_steps == doctest::Approx(10).epsilon(0.2));
  CHECK(fitted.common_cv == doctest::Approx(0.03).epsilon(0.05));
  CHECK(fitted.common_steps < 0.5);
}

TEST_CASE("a fit of what a fit has simulated is that fit, through the plug-in") {
  StragglerParameters parameters = fit_stragglers(known(1000, 2), kPoint).parameters;
  const StragglerParameters again = fit_stragglers(simulated_steps(parameters, 6000, 3), kPoint).parameters;
  CHECK(again.base_s == doctest::Approx(parameters.base_s).epsilon(0.01));
  CHECK(again.slow_steps == doctest::Approx(parameters.slow_steps).epsilon(0.25));
  CHECK(again.common_cv == doctest::Approx(parameters.common_cv).epsilon(0.08));
  for (std::size_t w = 0; w < 8; ++w)
    CHECK(again.fast_cvs[w] == doctest::Approx(parameters.fast_cvs[w]).epsilon(0.12));
}

TEST_CASE("factors of workers that differ by chance only are drawn together") {
  StepTable table = known(120, 4);
  for (std::size_t w = 0; w < 2; ++w)
    for (double& each : table.times_s[w]) each /= 1.1;
  double spread = 0, of_means = 0;
  const StragglerParameters fitted = fit_stragglers(table, kPoint).parameters;
  for (std::size_t w = 0; w < 8; ++w) {
    double mean = 0;
    for (const double each : table.times_s[w]) mean += each / 120;
    of_means += std::pow(mean / fitted.base_s - 1, 2);
    spread += std::pow(fitted.factors[w] - 1, 2);
  }
  CHECK(spread < 0.5 * of_means);
}

TEST_CASE("what follows the fitted steps begins where they ended, and forgets it") {
  StragglerFit fit = fit_stragglers(known(300, 5), kPoint);
  fit.parameters.slow_steps = 10;
  fit.parameters.common_steps = 0;
  fit.last_slow.assign(8, 0.0);
  fit.last_slow[3] = 0.1;
  // rho / (1 - rho) = 9.5 steps of 0.1 in all.
  const StragglerParameters soon = continued(fit, fit.parameters, 1),
                            late = continued(fit, fit.parameters, 1000);
  CHECK(soon.factors[3] / fit.parameters.factors[3] == doctest::Approx(std::exp(0.1 * std::exp(-0.1))));
  CHECK(late.factors[3] / fit.parameters.factors[3] == doctest::Approx(std::exp(0.00095)).epsilon(1e-5));
  CHECK(late.factors[2] == fit.parameters.factors[2]);
}

TEST_CASE("the same data and seed give the same fit; one worker has no common factor") {
  const StepTable table = known(100, 6);
  const StragglerFitOptions options{.draws = 3, .goodness_draws = 5};
  CHECK(fit_stragglers(table, options).parameters.section() ==
        fit_stragglers(table, options).parameters.section());
  CHECK(fit_stragglers(table, options).intervals[3].low == fit_stragglers(table, options).intervals[3].low);
  StepTable one = table;
  one.workers.resize(1);
  one.times_s.resize(1);
  const StragglerParameters alone = fit_stragglers(one, kPoint).parameters;
  CHECK(alone.common_cv == 0);
  CHECK(alone.factors == std::vector<double>{1});
  CHECK(!alone.section().contains("common"));
}

TEST_CASE("too few steps, and workers without noise, are refused") {
  const auto refusal = [](const StepTable& table) {
    try {
      fit_stragglers(table, kPoint);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(known(29, 1)) ==
        "29 steps with a time of each of the 8 workers are too few: give at least 30");
  CHECK(refusal({}) == "0 steps with a time of each of the 0 workers are too few: give at least 30");
  StepTable flat = known(40, 1);
  flat.times_s[3].assign(40, 1.0);
  CHECK(refusal(flat) == "all times of worker 3 are the same: there is no noise to fit");
}

// Families fitted to draws that are made here by other means than the fit's own quantiles.

namespace {

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

// What a straggler fit is made of, against the same by matrices.

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd covariance(const Chain& chain, int n) {
  MatrixXd all(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) all(i, j) = chain.variance * std::pow(chain.rho, std::abs(i - j));
  return all;
}

std::string refusal(const std::vector<WorkerStep>& rows) {
  try {
    step_table(rows);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the covariance that few steps have is the kernel between two centring matrices") {
  const int n = 17;
  for (const double rho : {0.0, 0.5, 0.95}) {
    const MatrixXd centre = MatrixXd::Identity(n, n) - MatrixXd::Constant(n, n, 1.0 / n);
    const MatrixXd centred = centre * covariance({1, rho}, n) * centre;
    const std::vector<double> expected = expected_covariance(rho, n, 10);
    for (int lag = 0; lag <= 10; ++lag) {
      CAPTURE(lag);
      const double mean = centred.diagonal(lag).mean();
      CHECK(expected[static_cast<std::size_t>(lag)] == doctest::Approx(mean).epsilon(1e-10));
    }
    CHECK(mean_variance(rho, n) == doctest::Approx(covariance({1, rho}, n).mean()).epsilon(1e-12));
  }
}

TEST_CASE("smoothing is the conditional mean of a Gaussian vector") {
  const int n = 30;
  const Chain wanted{0.7, 0.3}, other{1.3, 0.9};
  Stream stream({1, Purpose::algorithm, 0, 0});
  std::vector<double> sum;
  for (int i = 0; i < n; ++i) sum.push_back(stream.normal());
  const VectorXd seen = VectorXd::Map(sum.data(), n);
  const VectorXd expected =
      covariance(wanted, n) * (covariance(wanted, n) + covariance(other, n)).ldlt().solve(seen);
  const std::vector<double> got = smoothed(sum, wanted, other);
  for (int i = 0; i < n; ++i)
    CHECK(got[static_cast<std::size_t>(i)] == doctest::Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("covariances: own and between workers, by hand") {
  // Centred: -1 1 -1 1 and 1 -1 1 -1. Own at lag 0: 1, at lag 1: -1; between them the opposite.
  const Covariances of = covariances({{0, 2, 0, 2}, {3, 1, 3, 1}}, 1);
  CHECK(of.own[0] == std::vector<double>{1, -1});
  CHECK(of.cross == std::vector<double>{-1, 1});
  CHECK(covariances({{0, 2, 0, 2}}, 1).cross == std::vector<double>{0, 0});
}

TEST_CASE("a table has the steps of all workers, in order; rows of others are counted") {
  const StepTable table =
      step_table(std::vector<WorkerStep>{{4, 9, 0.5}, {2, 9, 0.25}, {2, 7, 1}, {4, 7, 2}, {4, 8, 3}});
  CHECK(table.workers == std::vector<int>{2, 4});
  CHECK(table.steps == std::vector<std::uint64_t>{7, 9});
  CHECK(table.times_s == std::vector<std::vector<double>>{{1, 0.25}, {2, 0.5}});
  CHECK(table.dropped == 1);
  CHECK(part(table, 1, 1).times_s == std::vector<std::vector<double>>{{0.25}, {0.5}});
  CHECK(step_table({}).workers.empty());
  CHECK(refusal({{1, 2, 0.0}}) == "worker 1 has a time of 0 s in step 2: times must be above 0");
  CHECK(refusal({{1, 2, -1.5}}) == "worker 1 has a time of -1.5 s in step 2: times must be above 0");
  CHECK(refusal({{1, 2, NAN}}) == "worker 1 has a time of nan s in step 2: times must be above 0");
  CHECK(refusal({{1, 2, 1}, {1, 2, 1}}) == "worker 1 has step 2 twice");
}

}  // namespace simsgd::test::calibration_straggler_fit

// compute_noise against what was asked for: moments, correlations at many lags, and each family's
// distribution against Boost's. Sizes of samples: 40,000 workers have independent chains, so a correlation is
// known to 0.005.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/inverse_gaussian.hpp>
#include <boost/math/distributions/laplace.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/pareto.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <functional>
#include <vector>

#include "sim/cluster/stragglers/noise_marginal.hpp"
#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_compute_noise {

namespace {

constexpr int kWorkers = 40000;

Stragglers noise(const std::string& options, int workers = kWorkers, std::uint64_t seed = 1) {
  return stragglers(R"({"name": "compute_noise", )" + options + "}", workers, seed);
}

double factor(const Stragglers& all, int rank, std::uint64_t step, int workers = kWorkers) {
  return all.at(1, rank, workers, step, 1.0).factor;
}

struct Pair {
  double x, y;
};

double correlation(const std::vector<Pair>& pairs) {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const Pair& each : pairs)
    x += each.x, y += each.y, xx += each.x * each.x, yy += each.y * each.y, xy += each.x * each.y;
  const auto n = static_cast<double>(pairs.size());
  return (xy / n - x / n * (y / n)) / std::sqrt((xx / n - x / n * (x / n)) * (yy / n - y / n * (y / n)));
}

double correlation(const Stragglers& all, std::uint64_t first, std::uint64_t second) {
  std::vector<Pair> pairs;
  for (int rank = 0; rank < kWorkers; ++rank)
    pairs.push_back({factor(all, rank, first), factor(all, rank, second)});
  return correlation(pairs);
}

double cv_over_steps(const Stragglers& all, int rank, std::uint64_t steps) {
  Sample values, squares;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    values.add(factor(all, rank, step));
    squares.add(factor(all, rank, step) * factor(all, rank, step));
  }
  return std::sqrt(squares.mean() / (values.mean() * values.mean()) - 1);
}

// sup |F_n - F|; of 40,000 draws above 0.0098 with probability 0.001 (Kolmogorov: 1.95 / sqrt n).
double distance(std::vector<double> values, const std::function<double(double)>& cdf) {
  std::ranges::sort(values);
  double most = 0;
  const auto n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = cdf(values[i]);
    most = std::max({most, at - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - at});
  }
  return most;
}

}  // namespace

TEST_CASE(
    "every family of compute_noise: its distribution by Boost, mean 1, the CV and lag-1 correlation asked for") {
  // A CV of 0.3 above a floor of 0.4 is one of 0.5 of what is above: (x - 0.4) / 0.6 has mean 1 and CV 0.5.
  namespace law = boost::math;
  struct Case {
    const char* family;
    std::function<double(double)> cdf;
  };
  const double sigma = std::sqrt(std::log(1.25));
  // Weibull of CV 0.5: shape 2.1013 (Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 = 1.25). Pareto: alpha (alpha - 2) =
  // 4, alpha = 1 + sqrt 5. Log-Laplace: (1 - b^2)^2 / (1 - 4 b^2) = 1.25, b^2 = sqrt(2.5) - 1.5.
  const double alpha = 1 + std::sqrt(5.0), b = std::sqrt(std::sqrt(2.5) - 1.5), k = 2.10134910;
  const Case cases[] = {
      {"lognormal", [&](double x) { return cdf(law::lognormal(-sigma * sigma / 2, sigma), x); }},
      {"gamma", [](double x) { return cdf(law::gamma_distribution<>(4, 0.25), x); }},
      {"weibull", [&](double x) { return cdf(law::weibull(k, 1 / std::tgamma(1 + 1 / k)), x); }},
      {"inverse_gaussian", [](double x) { return cdf(law::inverse_gaussian(1, 4), x); }},
      {"pareto", [&](double x) { return x < 1 - 1 / alpha ? 0 : cdf(law::pareto(1 - 1 / alpha, alpha), x); }},
      {"log_laplace", [&](double x) { return cdf(law::laplace(std::log(1 - b * b), b), std::log(x)); }},
  };
  for (const Case& each : cases) {
    CAPTURE(each.family);
    const Stragglers all = noise(R"("fast": {"cv": 0.3, "floor": 0.4, "correlation": 0.6, "family": ")" +
                                 std::string(each.family) + "\"}");
    std::vector<double> values;
    Sample mean, square;
    std::vector<Pair> pairs;
    for (int rank = 0; rank < kWorkers; ++rank) {
      const double x = factor(all, rank, 77);
      CHECK(x >= 0.4);
      values.push_back((x - 0.4) / 0.6);
      mean.add(x);
      square.add((x - 1) * (x - 1));
      pairs.push_back({x, factor(all, rank, 78)});
    }
    CHECK(distance(values, each.cdf) < 0.0098);
    CHECK(mean.agrees_with(1));
    CHECK(square.agrees_with(0.09));
    // Tails of powers 3.2 and 3.5 have no fourth moment: their correlation is known to less.
    const bool heavy = each.family == std::string("pareto") || each.family == std::string("log_laplace");
    CHECK(std::fabs(correlation(pairs) - 0.6) < (heavy ? 0.08 : 0.02));
  }
}

TEST_CASE(
    "the inverse Gaussian: Boost's where that is finite, and the normal that it becomes for small CVs") {
  for (const double lambda : {0.5, 4.0, 100.0})
    for (const double x : {0.05, 0.3, 0.9, 1.0, 1.2, 3.0}) {
      CAPTURE(lambda);
      CAPTURE(x);
      const boost::math::inverse_gaussian law(1, lambda);
      CHECK(stragglers::inverse_gaussian_cdf(lambda, x) == doctest::Approx(cdf(law, x)).epsilon(1e-9));
      CHECK(stragglers::inverse_gaussian_survival(lambda, x) ==
            doctest::Approx(cdf(complement(law, x))).epsilon(1e-9));
    }
  // lambda = 1e6: CV 0.001; the median is 1 - CV^2 / 2 + O(CV^4), and so are both tails' quantiles.
  CHECK(stragglers::inverse_gaussian_quantile(1e6, 0.5) == doctest::Approx(1 - 0.5e-6).epsilon(1e-9));
  CHECK(stragglers::inverse_gaussian_quantile(1e6, 0.5, true) == doctest::Approx(1 - 0.5e-6).epsilon(1e-9));
  const Stragglers all = noise(R"("fast": {"cv": 0.03, "family": "inverse_gaussian"})");
  CHECK(cv_over_steps(all, 0, 20000) == doctest::Approx(0.03).epsilon(0.03));
}

TEST_CASE("a floor of 1 - cv makes a Weibull the shifted exponential") {
  const Stragglers all = noise(R"("fast": {"cv": 0.25, "floor": 0.75, "family": "weibull"})");
  std::vector<double> values;
  for (int rank = 0; rank < kWorkers; ++rank) values.push_back((factor(all, rank, 3) - 0.75) / 0.25);
  CHECK(distance(values, [](double x) { return -std::expm1(-x); }) < 0.0098);
}

TEST_CASE("measured quantiles: ratios of quantiles at the reference, straight between them") {
  // Above 1, 2, 4 at 0, 1/2, 1: mean (1.5 + 3) / 2 = 2.25; E x^2 = (7/3 + 28/3) / 2, CV^2 = 0.1523.
  const Stragglers all =
      noise(R"("fast": {"cv": 0.390297, "family": "quantiles", "quantiles": [100, 200, 400]})");
  std::vector<double> values;
  for (int rank = 0; rank < kWorkers; ++rank) values.push_back(factor(all, rank, 3) * 2.25);
  CHECK(distance(values, [](double x) {
          return std::clamp(x < 2 ? (x - 1) / 2 : 0.5 + (x - 2) / 4, 0.0, 1.0);
        }) < 0.0098);
}

TEST_CASE("noise of two time scales: correlations at lags are the mixture's, lag 20 still 0.3") {
  // Small CVs: variances add. Fast 0.03, r = 0.4; slow 0.02 and 40 steps: a share of 4/13 slow.
  const Stragglers all =
      noise(R"("fast": {"cv": 0.03, "correlation": 0.4}, "slow": {"cv": 0.04, "correlation_steps": 40})");
  for (const std::uint64_t lag : {1U, 2U, 5U, 20U, 60U}) {
    CAPTURE(lag);
    const double expected = (9 * std::pow(0.4, lag) + 16 * std::exp(-static_cast<double>(lag) / 40)) / 25;
    CHECK(std::fabs(correlation(all, 1000, 1000 + lag) - expected) < 0.02);
  }
  CHECK(correlation(all, 1000, 1020) > 0.3);
}

TEST_CASE(
    "an independent model: forward recursions of normals, multiplied, have the same moments of the slowest") {
  // 10 workers, the slowest of each step: mean and mean square over 4,000 steps of plain AR(1) loops.
  const char* const kOptions =
      R"("fast": {"cv": 0.1, "correlation": 0.5}, "slow": {"cv": 0.1, "correlation_steps": 5},
                                  "common": {"cv": 0.05, "correlation_steps": 2})";
  const double v = std::log(1.01), common = std::log(1.0025);
  const double rho[] = {std::log1p(0.005) / v, std::exp(-0.2), std::exp(-0.5)};
  Sample model, plugin;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Stream stream({seed, Purpose::algorithm, 0, 0});
    double fast[10], slow[10], of_all = stream.normal();
    for (int w = 0; w < 10; ++w) fast[w] = stream.normal(), slow[w] = stream.normal();
    const auto next = [&](double& z, double r) { z = r * z + std::sqrt(1 - r * r) * stream.normal(); };
    const Stragglers all = noise(kOptions, 10, seed);
    Sample of_model, of_plugin;
    for (std::uint64_t step = 1; step <= 60; ++step) {
      double slowest = 0, replayed = 0;
      next(of_all, rho[2]);
      for (int w = 0; w < 10; ++w) {
        next(fast[w], rho[0]);
        next(slow[w], rho[1]);
        slowest = std::max(slowest, std::exp(std::sqrt(v) * (fast[w] + slow[w]) - v));
        replayed = std::max(replayed, all.at(seed, w, 10, step, 1.0).factor);
      }
      of_model.add(slowest * std::exp(std::sqrt(common) * of_all - common / 2));
      of_plugin.add(replayed);
    }
    model.add(of_model.mean());
    plugin.add(of_plugin.mean());
  }
  CHECK(std::fabs(model.mean() - plugin.mean()) <
        4 * std::hypot(model.standard_error(), plugin.standard_error()));
  CHECK(model.standard_error() == doctest::Approx(plugin.standard_error()).epsilon(0.2));
}

TEST_CASE("the common factor is every worker's, and remembers where asked to") {
  const Stragglers all = noise(R"("common": {"cv": 0.2, "correlation_steps": 10})", 8);
  Sample mean, square;
  std::vector<Pair> pairs;
  for (std::uint64_t step = 1; step <= 40000; ++step) {
    const double x = factor(all, 0, step, 8);
    CHECK(factor(all, 7, step, 8) == x);
    pairs.push_back({x, factor(all, 3, step + 10, 8)});
    if (step % 50 != 0) continue;  // five times the memory: as good as independent
    mean.add(x);
    square.add(x * x);
  }
  CHECK(mean.agrees_with(1));
  CHECK(square.agrees_with(1.04));
  CHECK(std::fabs(correlation(pairs) - 1 / std::exp(1.0)) < 0.06);
}

TEST_CASE("workers have factors and CVs of their own: from lists, or drawn once") {
  const Stragglers listed =
      noise(R"("factors": [1, 2], "fast": {"cvs": [0.01, 0.2], "family": "gamma"}, "slow": {"cvs": [0, 0.1],
               "correlation_steps": 3})",
            2);
  CHECK(cv_over_steps(listed, 0, 20000) == doctest::Approx(0.01).epsilon(0.03));
  // (1 + 0.2^2) (1 + 0.1^2) - 1 = 0.0504
  CHECK(cv_over_steps(listed, 1, 20000) == doctest::Approx(std::sqrt(0.0504)).epsilon(0.03));
  Sample second;
  for (std::uint64_t step = 1; step <= 20000; step += 20) second.add(factor(listed, 1, step));
  CHECK(second.agrees_with(2));

  const Stragglers drawn = noise(R"("factor_cv": 0.1, "fast": {"cv": 0.05, "cv_spread": 0.5})", 400);
  Sample cvs, cv_squares;
  for (int rank = 0; rank < 400; ++rank) {
    const double cv = cv_over_steps(drawn, rank, 400);
    cvs.add(cv);
    cv_squares.add(cv * cv);
  }
  CHECK(cvs.agrees_with(0.05));
  CHECK(std::sqrt(cv_squares.mean() / (0.05 * 0.05) - 1) == doctest::Approx(0.5).epsilon(0.15));
}

TEST_CASE("few measured workers stand for many: modulo, or drawn once each") {
  const Stragglers modulo = noise(R"("factors": [1, 2, 3], "rank_mapping": "modulo")", 7);
  for (int rank = 0; rank < 7; ++rank) CHECK(factor(modulo, rank, 9, 7) == 1 + rank % 3);
  const Stragglers drawn = noise(R"("factors": [1, 2, 4], "rank_mapping": "draw")", 3000);
  int count[5] = {};
  for (int rank = 0; rank < 3000; ++rank) {
    CHECK(factor(drawn, rank, 1, 3000) == factor(drawn, rank, 99, 3000));
    ++count[static_cast<int>(factor(drawn, rank, 1, 3000))];
  }
  for (const int value : {1, 2, 4}) CHECK(std::abs(count[value] - 1000) < 4 * 26);  // sqrt(3000 x 2/9) = 26
}

TEST_CASE(
    "compute_noise is a function of seed, index, rank and step, and each step of 30,000 workers is cheap") {
  const std::string options =
      R"("factor_cv": 0.1, "fast": {"cv": 0.05, "cv_spread": 0.5, "correlation": 0.5, "family": "weibull"},
         "slow": {"cv": 0.05, "correlation_steps": 1000}, "common": {"cv": 0.1})";
  const Stragglers one = noise(options, 30000), two = noise(options, 30000);
  Sample forth;
  for (int rank = 0; rank < 30000; ++rank) forth.add(factor(one, rank, std::uint64_t{1} << 30, 30000));
  for (int rank = 29999; rank >= 0; rank -= 1000)
    CHECK(factor(two, rank, std::uint64_t{1} << 30, 30000) ==
          factor(one, rank, std::uint64_t{1} << 30, 30000));
  CHECK(forth.mean() > 0.5);
  CHECK(factor(noise(options, 8, 2), 3, 5, 8) != factor(noise(options, 8, 1), 3, 5, 8));
}

}  // namespace simsgd::test::cluster_compute_noise

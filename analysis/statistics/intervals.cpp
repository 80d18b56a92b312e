#include "analysis/statistics/intervals.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

namespace simsgd::statistics {

namespace {

/// Efron's acceleration: a sixth of the skewness of the statistic's influence, by leaving out one at a time.
double acceleration(const std::vector<double>& values, const Statistic& statistic) {
  std::vector<double> without(values.begin() + 1, values.end()), influence;
  for (std::size_t i = 0; i < values.size(); ++i) {
    influence.push_back(statistic(without));
    if (i < without.size()) without[i] = values[i];
  }
  const double centre = mean(influence);
  double squares = 0, cubes = 0;
  for (const double each : influence) {
    squares += (centre - each) * (centre - each);
    cubes += (centre - each) * (centre - each) * (centre - each);
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

std::vector<double> resampled(const std::vector<double>& values, const Statistic& statistic,
                              const Resampling& resampling) {
  Stream stream({.seed = resampling.seed, .purpose = Purpose::resampling, .entity = 0, .step = 0});
  std::vector<double> drawn(values.size()), statistics;
  for (int i = 0; i < resampling.resamples; ++i) {
    for (double& each : drawn) each = values[stream.below(static_cast<std::uint32_t>(values.size()))];
    statistics.push_back(statistic(drawn));
  }
  std::ranges::sort(statistics);
  return statistics;
}

}  // namespace

double student_quantile(double probability, double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double student_two_sided_p(double t, double degrees) {
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), std::fabs(t)));
}

double normal_quantile(double probability) {
  return boost::math::quantile(boost::math::normal(), probability);
}

double normal_cdf(double z) { return boost::math::cdf(boost::math::normal(), z); }

double fair_coin_cdf(std::size_t k, std::size_t n) {
  return boost::math::cdf(boost::math::binomial(static_cast<double>(n), 0.5), static_cast<double>(k));
}

double mean(const std::vector<double>& values) {
  CHECK(!values.empty(), "A mean is of one value at least.");
  // Around the first one: equal values have their own value for mean, to the last bit.
  const double origin = values.front();
  double sum = 0;
  for (const double value : values) sum += value - origin;
  return origin + sum / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Estimate student_mean(const std::vector<double>& values, double level) {
  Estimate estimate{mean(values), {}, values.size()};
  if (values.size() < 2) return estimate;
  const auto n = static_cast<double>(values.size());
  const double half = student_quantile((1 + level) / 2, n - 1) * standard_deviation(values) / std::sqrt(n);
  estimate.interval = {estimate.value - half, estimate.value + half};
  return estimate;
}

Estimate order_median(const std::vector<double>& values, double level) {
  Estimate estimate{median(values), {}, values.size()};
  // [x(k), x(n + 1 - k)] misses the median with probability 2 P(X <= k - 1), X of n fair coins.
  std::size_t k = 0;
  while (2 * k < values.size() && 2 * fair_coin_cdf(k, values.size()) <= 1 - level) ++k;
  if (k == 0) return estimate;
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  estimate.interval = {sorted[k - 1], sorted[sorted.size() - k]};
  return estimate;
}

Estimate bootstrap(const std::vector<double>& values, const Statistic& statistic, double level,
                   const Resampling& resampling) {
  CHECK(!values.empty(), "A bootstrap is of one value at least.");
  Estimate estimate{statistic(values), {}, values.size()};
  if (values.size() < kLeastForBootstrap) return estimate;
  const std::vector<double> sorted = resampled(values, statistic, resampling);
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), estimate.value);
  const double below = static_cast<double>((first - sorted.begin()) + (last - sorted.begin())) / 2;
  const auto all = static_cast<double>(sorted.size());
  const double bias = normal_quantile(std::clamp(below / all, 0.5 / all, 1 - 0.5 / all));
  const double skew = acceleration(values, statistic);
  const auto n = static_cast<double>(values.size());
  const double reach = std::sqrt(n / (n - 1)) * student_quantile((1 + level) / 2, n - 1);
  const auto end = [&](double z) {
    return interval_end(sorted, normal_cdf(bias + (bias + z) / (1 - skew * (bias + z))));
  };
  estimate.interval = {end(-reach), end(reach)};
  return estimate;
}

Estimate bootstrap_mean(const std::vector<double>& values, double level, const Resampling& resampling) {
  return bootstrap(values, mean, level, resampling);
}

}  // namespace simsgd::statistics

#include "analysis/calibration/error_reach.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>

namespace simsgd {

namespace {

// Student's t with two degrees of freedom has closed forms.
double share_within(double z) { return z / std::sqrt(2 + z * z); }
double quantile_of(double u) { return (2 * u - 1) / std::sqrt(2 * u * (1 - u)); }

/// Scales that may be the errors', as logarithms, from 1e-4 of the largest one to 1e3 times as much.
constexpr double kScaleStep = 0.1, kLeastScale = -9.2, kMostScale = 6.9;
constexpr int kScales = 162, kShares = 10;

/// Logarithm of the likelihood of a scale, but for a constant; of a share of squares that goes with slopes.
double log_likelihood(const std::vector<CountedError>& errors, double log_scale, double share,
                      double mean_square_slope) {
  double sum = 0;
  for (const CountedError& each : errors) {
    const double wider = share > 0 ? share * each.slope * each.slope / mean_square_slope + 1 - share : 1;
    const double log_own = log_scale + std::log(std::max(wider, 1e-12)) / 2;
    const double z = each.log_error * std::exp(-log_own);
    sum -= each.count * (1.5 * std::log1p(z * z / 2) + log_own);
  }
  return sum;
}

double largest(const std::vector<CountedError>& errors) {
  double most = 0;
  for (const CountedError& each : errors) most = std::max(most, std::fabs(each.log_error));
  return most;
}

/// Logarithms of the likelihoods of all scales.
std::vector<double> over_scales(const std::vector<CountedError>& errors, double share = 0,
                                double mean_square_slope = 1) {
  std::vector<double> all;
  const double most = std::log(largest(errors));
  for (int i = 0; i < kScales; ++i)
    all.push_back(log_likelihood(errors, most + kLeastScale + i * kScaleStep, share, mean_square_slope));
  return all;
}

}  // namespace

double count_of_part(std::size_t cells) { return std::sqrt(static_cast<double>(cells)); }

Reach reach_of_errors(const std::vector<CountedError>& errors) {
  Reach reach{};
  const double most = largest(errors);
  if (!(most > 0)) return reach;
  std::vector<double> weights = over_scales(errors);
  const double likeliest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& each : weights) sum += each = std::exp(each - likeliest);
  const auto beyond = [&](double log_size, double level) {
    double within = 0, log_scale = std::log(most) + kLeastScale;
    for (const double weight : weights) {
      within += weight * share_within(std::exp(log_size - log_scale));
      log_scale += kScaleStep;
    }
    return within / sum - level;
  };
  for (std::size_t i = 0; i < reach.size(); ++i) {
    std::uintmax_t steps = 100;
    const auto [low, high] = boost::math::tools::toms748_solve(
        [&](double log_size) { return beyond(log_size, kIntervalLevels[i]); },
        std::log(most) + 2 * kLeastScale, std::log(most) + 2 * kMostScale,
        boost::math::tools::eps_tolerance<double>(40), steps);
    reach[i] = std::exp((low + high) / 2);
  }
  return reach;
}

double share_with_slopes(const std::vector<CountedError>& errors) {
  constexpr double kLeastGain = 1.92;  // half of chi-squared's 95 %, one degree of freedom
  double square = 0, count = 0;
  for (const CountedError& each : errors) square += each.count * each.slope * each.slope, count += each.count;
  if (!(square > 0) || !(largest(errors) > 0)) return 0;
  double share = 0, least = kLeastGain, flat = 0;
  for (int i = 0; i <= kShares; ++i) {
    const double tried = static_cast<double>(i) / kShares;
    const std::vector<double> likelihoods = over_scales(errors, tried, square / count);
    const double best = *std::max_element(likelihoods.begin(), likelihoods.end());
    if (i == 0) flat = best;
    if (best - flat > least) share = tried, least = best - flat;
  }
  return share;
}

double drawn_error(double nine_tenths, double u) { return nine_tenths / quantile_of(0.95) * quantile_of(u); }

}  // namespace simsgd

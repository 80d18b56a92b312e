#include "sim/cluster/stragglers/inverse_gaussian.hpp"

#include <cmath>
#include <numbers>

namespace simsgd::stragglers {

namespace {

// exp(t^2) erfc(t), t >= 0; asymptotically from 20, where the next term is 1e-15.
double scaled_erfc(double t) {
  if (t < 20) return std::exp(t * t) * std::erfc(t);
  const double s = 1 / (2 * t * t);
  return (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)))) / (t * std::sqrt(std::numbers::pi));
}

struct Terms {
  double a, b;  // over sqrt 2
};

Terms terms(double lambda, double x) {
  const double root = std::sqrt(lambda / (2 * x));
  return {root * (x - 1), root * (x + 1)};
}

}  // namespace

double inverse_gaussian_cdf(double lambda, double x) {
  if (x <= 0) return 0;
  const auto [a, b] = terms(lambda, x);
  return (std::erfc(-a) + std::exp(-a * a) * scaled_erfc(b)) / 2;
}

double inverse_gaussian_survival(double lambda, double x) {
  if (x <= 1) return 1 - inverse_gaussian_cdf(lambda, x);
  const auto [a, b] = terms(lambda, x);
  return std::exp(-a * a) * (scaled_erfc(a) - scaled_erfc(b)) / 2;
}

double inverse_gaussian_quantile(double lambda, double probability, bool upper) {
  const auto is_below = [&](double x) {
    return upper ? inverse_gaussian_survival(lambda, x) > probability
                 : inverse_gaussian_cdf(lambda, x) < probability;
  };
  double low = 1, high = 1;
  while (is_below(high) && high < 1e300) high *= 2;
  while (!is_below(low) && low > 1e-300) low /= 2;
  for (int i = 0; i < 60 && high - low > 1e-14 * high; ++i) {
    const double middle = high > 4 * low ? std::sqrt(low * high) : (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace simsgd::stragglers

#include "sim/cluster/stragglers/noise_marginal.hpp"

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <numbers>
#include <utility>

namespace simsgd::stragglers {

namespace {

// Quadrature and tables over normal scores: beyond 6.5 lie 8e-11 of all draws; there L goes on straight.
constexpr double kLastScore = 6.5, kScoreStep = 0.02;
constexpr int kScores = 651;
constexpr double kLowestExponent = 1e-4, kHighestExponent = 20;
constexpr int kExponents = 513;
constexpr int kHermiteTerms = 60;
constexpr double kLargestReachedCv = 1e6;  // as ar1

double score(int i) { return -kLastScore + kScoreStep * i; }
double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double above(double z) { return below(-z); }

// At a normal score: of the tail that is nearer, so that neither loses digits.
double log_gamma_quantile(double shape, double z) {
  const boost::math::gamma_distribution<> law(shape, 1);
  return std::log(z < 0 ? boost::math::quantile(law, below(z))
                        : boost::math::quantile(boost::math::complement(law, above(z))));
}
double log_inverse_gaussian_quantile(double shape, double z) {
  return std::log(z < 0 ? inverse_gaussian_quantile(shape, below(z))
                        : inverse_gaussian_quantile(shape, above(z), true));
}

double interpolated(const std::vector<double>& x, const std::vector<double>& y, double at) {
  const auto right = std::clamp(std::ranges::upper_bound(x, at), x.begin() + 1, x.end() - 1);
  const auto i = static_cast<std::size_t>(right - x.begin());
  return y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
}

/// Where a rising function is `value`, from 0 to `high`.
template <class Rising>
double inverse(const Rising& rising, double value, double high) {
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (rising(middle) < value ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

NoiseMarginal::NoiseMarginal(Settings settings) : settings_(std::move(settings)) {
  if (!is_closed()) {
    tabulate_shape();
    tabulate_exponents();
  }
  const double exponent = exponent_of(settings_.cv / (1 - settings_.floor));
  reference_ = {exponent, log_mean(exponent)};
}

bool NoiseMarginal::is_closed() const {
  return settings_.family == NoiseFamily::lognormal || settings_.family == NoiseFamily::weibull ||
         settings_.family == NoiseFamily::pareto || settings_.family == NoiseFamily::log_laplace;
}

void NoiseMarginal::tabulate_shape() {
  const double cv = settings_.cv / (1 - settings_.floor);
  std::vector<double> probabilities;
  const std::vector<double>& quantiles = settings_.quantiles;
  for (std::size_t i = 0; i < quantiles.size(); ++i)
    probabilities.push_back(static_cast<double>(i) / static_cast<double>(quantiles.size() - 1));
  for (int i = 0; i < kScores; ++i) {
    if (settings_.family == NoiseFamily::gamma)
      shape_.push_back(log_gamma_quantile(1 / (cv * cv), score(i)));
    else if (settings_.family == NoiseFamily::inverse_gaussian)
      shape_.push_back(log_inverse_gaussian_quantile(1 / (cv * cv), score(i)));
    else
      shape_.push_back(std::log(interpolated(probabilities, quantiles, below(score(i)))));
  }
}

void NoiseMarginal::tabulate_exponents() {
  const double step = std::log(kHighestExponent / kLowestExponent) / (kExponents - 1);
  for (int i = 0; i < kExponents; ++i) {
    const double log_exponent = std::log(kLowestExponent) + step * i;
    const double cv = excess_cv(std::exp(log_exponent));
    // Beyond, the quadrature's end would decide.
    if (!std::isfinite(cv) || cv > 100 || (!log_cvs_.empty() && std::log(cv) < log_cvs_.back() + 1e-6))
      return;
    log_cvs_.push_back(std::log(cv));
    log_exponents_.push_back(log_exponent);
  }
}

double NoiseMarginal::log_shape(double z) const {
  switch (settings_.family) {
    case NoiseFamily::lognormal:
      return z;
    case NoiseFamily::weibull:
      return std::log(-(z < 0 ? std::log1p(-below(z)) : std::log(above(z))));
    case NoiseFamily::pareto:
      return -(z < 0 ? std::log1p(-below(z)) : std::log(above(z)));
    case NoiseFamily::log_laplace:
      return z < 0 ? std::log(2 * below(z)) : -std::log(2 * above(z));
    default:
      break;
  }
  // A straight line between grid points: 2e-4 of the standard deviation at most for smooth families.
  const double place = (z + kLastScore) / kScoreStep;
  const int i = std::clamp(static_cast<int>(std::floor(place)), 0, kScores - 2);
  const auto at = static_cast<std::size_t>(i);
  return shape_[at] + (shape_[at + 1] - shape_[at]) * (place - i);
}

double NoiseMarginal::log_mean(double a) const {
  switch (settings_.family) {
    case NoiseFamily::lognormal:
      return a * a / 2;
    case NoiseFamily::weibull:
      return std::lgamma(1 + a);
    case NoiseFamily::pareto:
      return -std::log1p(-a);
    case NoiseFamily::log_laplace:
      return -std::log1p(-a * a);
    default:
      break;
  }
  double sum = 0, weights = 0;
  for (int i = 0; i < kScores; ++i) {
    const double weight = density(score(i));
    weights += weight;
    sum += weight * std::exp(a * shape_[static_cast<std::size_t>(i)]);
  }
  return std::log(sum / weights);
}

double NoiseMarginal::excess_cv(double a) const {
  return std::sqrt(std::expm1(log_mean(2 * a) - 2 * log_mean(a)));
}

// Solves 1 + CV^2 = M(2a) / M(a)^2.
double NoiseMarginal::exponent_of(double cv) const {
  const double square = cv * cv, root = 1 + 2 * square;
  switch (settings_.family) {
    case NoiseFamily::lognormal:
      return std::sqrt(std::log1p(square));
    case NoiseFamily::weibull:
      return inverse([this](double a) { return excess_cv(a); }, cv, kHighestExponent);
    case NoiseFamily::pareto:
      return cv / (cv + std::sqrt(1 + square));
    case NoiseFamily::log_laplace:
      return cv / std::sqrt(root + std::sqrt(root * root + square));
    case NoiseFamily::gamma:
    case NoiseFamily::inverse_gaussian:
      if (cv == settings_.cv / (1 - settings_.floor)) return 1;
      break;
    case NoiseFamily::quantiles:
      break;
  }
  return std::exp(interpolated(log_cvs_, log_exponents_, std::log(cv)));
}

NoiseMarginal::Scale NoiseMarginal::scale_of(double cv) const {
  if (cv == 0) return {};
  if (cv == settings_.cv) return reference_;
  const double exponent = exponent_of(cv / (1 - settings_.floor));
  return {exponent, log_mean(exponent)};
}

double NoiseMarginal::largest_cv() const {
  if (!is_closed()) return std::exp(log_cvs_.back()) * (1 - settings_.floor);
  const double excess = settings_.family == NoiseFamily::weibull ? 1e3 : kLargestReachedCv;
  return excess * (1 - settings_.floor);
}

double NoiseMarginal::at(double z, const Scale& scale) const {
  return settings_.floor + (1 - settings_.floor) * std::exp(scale.exponent * log_shape(z) - scale.log_mean);
}

// The correlation of g(Z), g(Z') is sum h_j^2 rho^j / sum h_j^2, h_j the Hermite coefficients of g (Mehler).
double NoiseMarginal::normal_correlation(double r) const {
  if (r == 0) return 0;
  if (settings_.family == NoiseFamily::lognormal) {
    const double square = settings_.cv * settings_.cv / ((1 - settings_.floor) * (1 - settings_.floor));
    return std::log1p(r * square) / std::log1p(square);
  }
  const Scale scale = scale_of(settings_.cv);
  std::vector<double> squares(kHermiteTerms, 0.0);
  for (int i = 0; i < kScores; ++i) {
    const double z = score(i), value = density(z) * kScoreStep * at(z, scale);
    double before = 0, polynomial = 1;  // normalised: He_j / sqrt(j!)
    for (int j = 0; j < kHermiteTerms; ++j) {
      squares[static_cast<std::size_t>(j)] += value * polynomial;
      const double next = (z * polynomial - std::sqrt(j) * before) / std::sqrt(j + 1);
      before = std::exchange(polynomial, next);
    }
  }
  double sum = 0;
  for (std::size_t j = 1; j < squares.size(); ++j) sum += squares[j] *= squares[j];
  return inverse(
      [&](double rho) {
        double at_rho = 0, power = 1;
        for (std::size_t j = 1; j < squares.size(); ++j) at_rho += squares[j] * (power *= rho);
        return at_rho / sum;
      },
      r, 1);
}

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

// Families of distributions of times, fitted by maximum likelihood with and without a shift (a floor below
// which nothing is), compared by AIC, and tested. With y = x - shift > 0:
//   lognormal         ln y normal: mean ln(scale), deviation shape
//   gamma             shape, scale                     weibull           shape, scale
//   exponential       scale = mean                     pareto            scale = least y, shape = alpha
//   inverse_gaussian  scale = mean, shape = lambda     log_laplace       ln y Laplace: median ln(scale),
//   shape = b
// Given the shift all but gamma and Weibull are closed (Johnson, Kotz, Balakrishnan, Continuous Univariate
// Distributions, Wiley 1994/95), these solve one equation. A likelihood that knows a shift may have no
// maximum where the shift reaches the least value (Smith, Biometrika 72, 1985): it stays (mean - least) / n
// below. AIC and tests suppose independent values: thin a series first (thinning_lag). Checked by
// tests/calibration/straggler_fit.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace simsgd::calibration {

enum class Family : std::uint8_t {
  lognormal,
  gamma,
  weibull,
  exponential,
  pareto,
  inverse_gaussian,
  log_laplace
};
inline constexpr Family kFamilies[] = {Family::lognormal,   Family::gamma,  Family::weibull,
                                       Family::exponential, Family::pareto, Family::inverse_gaussian,
                                       Family::log_laplace};

/// As the straggler compute_noise writes it; "exponential" is a Weibull there.
std::string family_name(Family family);

struct FamilyFit {
  Family family = Family::lognormal;
  bool shifted = false;
  double shift = 0, scale = 0, shape = 0;  ///< in the unit of the values
  double log_likelihood = 0;
  int parameters = 0;
  double aic() const { return 2 * parameters - 2 * log_likelihood; }
};

/// Of at least three positive values, not all the same. Throws std::invalid_argument else.
FamilyFit fit_family(Family family, bool shifted, std::span<const double> values);
double cdf(const FamilyFit& fit, double value);
double quantile(const FamilyFit& fit, double probability);

/// Distances of the values from the fit, and how often values drawn from the fit and fitted again are as far:
/// the parametric bootstrap (Stute, Gonzalez Manteiga, Presedo Quindimil, Metrika 40, 1993), without which a
/// fitted law is never rejected.
struct Goodness {
  double ks = 0, ks_p = 1;                              ///< Kolmogorov-Smirnov
  double anderson_darling = 0, anderson_darling_p = 1;  ///< weighs tails
  int draws = 0;
};
Goodness goodness(const FamilyFit& fit, std::span<const double> values, int draws, std::uint64_t seed);

struct FamilyChoice {
  std::vector<FamilyFit> fits;  ///< by AIC, the best first
  Goodness best;                ///< of the first
  bool none_fits = false;       ///< its p-values: one is below `significance`
  double significance = 0.05;
  std::size_t count = 0;  ///< values that were judged
  /// At probabilities 0, 1/m, ..., 1 of all values: what to use where none fits.
  std::vector<double> quantiles;
};
FamilyChoice choose_family(std::span<const double> values, int draws, std::uint64_t seed,
                           double significance = 0.05);

/// The first lag at which the mean autocorrelation of the series is below `threshold`; at least 1.
std::size_t thinning_lag(const std::vector<std::vector<double>>& series, double threshold = 0.1);
/// Every lag-th value of each series, in one.
std::vector<double> thinned(const std::vector<std::vector<double>>& series, std::size_t lag);

}  // namespace simsgd::calibration

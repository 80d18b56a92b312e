// The distribution of a factor of mean 1 whose normal score z is drawn elsewhere (a Gaussian copula: how the
// factor is distributed and how it remembers are apart):
//   X(z) = floor + (1 - floor) exp(a L(z) - ln M(a)),  M(a) = E exp(a L(Z))
// L is the logarithm of the family's quantile at Phi(z); the exponent a gives the CV, the deviation over the
// mean.
//   lognormal         L = z
//   weibull           L = ln(-ln Q(z)), Q = 1 - Phi;  shape 1/a, so that CV = 1 - floor is the exponential
//   pareto            L = -ln Q(z); alpha = 1/a; with a floor: Lomax
//   log_laplace       L = Laplace quantile of Phi(z); symmetric in the logarithm, both tails are powers
//   gamma, inverse_gaussian, quantiles: a = 1 at the reference CV; a worker of another has a power of these
// Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, Wiley 1994/95; copula: Cario, Nelson,
// Operations Research Letters 19, 1996 (ARTA). Checked by tests/cluster/compute_noise.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace simsgd::stragglers {

enum class NoiseFamily : std::uint8_t {
  lognormal,
  gamma,
  weibull,
  inverse_gaussian,
  pareto,
  log_laplace,
  quantiles
};

class NoiseMarginal {
 public:
  struct Settings {
    NoiseFamily family = NoiseFamily::lognormal;
    double cv = 0;     ///< of reference, above 0
    double floor = 0;  ///< nothing is below, as a share of the mean; from 0 and below 1
    /// Of `quantiles`: at probabilities 0, 1/m, ..., 1; ascending, positive; only their ratios count, and
    /// that of the CV is theirs.
    std::vector<double> quantiles = {};
  };
  /// What a worker's own CV makes of the family.
  struct Scale {
    double exponent = 0, log_mean = 0;
  };

  NoiseMarginal() = default;
  explicit NoiseMarginal(Settings settings);

  /// cv: from 0 to largest_cv(). Closed, or interpolated to 1e-4 of the CV.
  Scale scale_of(double cv) const;
  /// CVs above cannot be reached, or not computed.
  double largest_cv() const;
  double at(double z, const Scale& scale) const;
  /// Correlation of two normal scores whose factors (of the reference CV) have correlation r, from 0 and
  /// below 1.
  double normal_correlation(double r) const;
  /// ln M(a).
  double log_mean(double exponent) const;

 private:
  double log_shape(double z) const;
  double exponent_of(double excess_cv) const;
  double excess_cv(double exponent) const;
  bool is_closed() const;
  void tabulate_shape();
  void tabulate_exponents();

  Settings settings_;
  Scale reference_;                              // of settings_.cv
  std::vector<double> shape_;                    // L over the grid of z, where it has no formula
  std::vector<double> log_cvs_, log_exponents_;  // ascending
};

// The inverse Gaussian of mean 1 and shape lambda (CV 1/sqrt(lambda)):
//   F(x) = Phi(a) + exp(2 lambda) Phi(-b),  a = sqrt(lambda/x) (x - 1), b = sqrt(lambda/x) (x + 1)
// (Chhikara, Folks, The Inverse Gaussian Distribution, Dekker 1989), with the second term as
// exp(-a^2/2) erfcx(b / sqrt 2) / 2, since exp(2 lambda) overflows at CVs below 5 %, as Boost.Math 1.74 does.
// Checked by tests/cluster/compute_noise.cpp.

double inverse_gaussian_cdf(double lambda, double x);
/// 1 - F, with all digits.
double inverse_gaussian_survival(double lambda, double x);
/// x at F = `probability`, or where `upper` at 1 - F; from 0 to 1, both exclusive.
double inverse_gaussian_quantile(double lambda, double probability, bool upper = false);

}  // namespace simsgd::stragglers

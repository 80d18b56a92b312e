#include "sim/base/distribution.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

// Doubles stay doubles (long double is 4x slower and changes nothing above 1e-15), and a tail too thick for a
// double is infinite instead of an exception: makers of distributions look for that when they are loaded.
using QuantilePolicy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

double normal_quantile(double probability) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * probability, QuantilePolicy{});
}

double gamma_quantile(double shape, double probability) {
  if (probability <= 0.5) return boost::math::gamma_p_inv(shape, probability, QuantilePolicy{});
  return boost::math::gamma_q_inv(shape, 1 - probability, QuantilePolicy{});
}

double histogram_quantile(const Distribution& histogram, double probability) {
  const auto above = std::upper_bound(histogram.cumulative.begin(), histogram.cumulative.end(), probability);
  CHECK(above != histogram.cumulative.end(), "the cumulative weights of a histogram end with 1");
  const auto bin = static_cast<std::size_t>(above - histogram.cumulative.begin());
  const double below = bin == 0 ? 0 : histogram.cumulative[bin - 1];
  return std::lerp(histogram.edges[bin], histogram.edges[bin + 1],
                   (probability - below) / (histogram.cumulative[bin] - below));
}

double histogram_mean(const Distribution& histogram) {
  double mean = 0;
  double below = 0;
  for (std::size_t bin = 0; bin < histogram.cumulative.size(); ++bin) {
    mean +=
        (histogram.cumulative[bin] - below) * std::midpoint(histogram.edges[bin], histogram.edges[bin + 1]);
    below = histogram.cumulative[bin];
  }
  return mean;
}

}  // namespace

// With U the probability, in the order of the cases (Johnson, Kotz, Balakrishnan, Continuous Univariate
// Distributions, Wiley 1994; checked by tests/cluster/distributions.cpp):
//   uniform s U;  exponential -s ln(1-U);  log-normal s exp(sigma z(U)), z the normal quantile;  gamma s
//   P^-1(k, U), P the regularised incomplete gamma function;  Weibull s (-ln(1-U))^(1/k);  Pareto s
//   (1-U)^(-1/k).
double Distribution::quantile(double probability) const {
  CHECK(probability > 0 && probability < 1, "a quantile is asked for inside the open interval (0, 1)");
  switch (kind) {
    case Kind::constant:
      return shift + scale;
    case Kind::uniform:
      return shift + scale * probability;
    case Kind::exponential:
      return shift - scale * std::log1p(-probability);
    case Kind::lognormal:
      return shift + scale * std::exp(shape * normal_quantile(probability));
    case Kind::gamma:
      return shift + scale * gamma_quantile(shape, probability);
    case Kind::weibull:
      return shift + scale * std::pow(-std::log1p(-probability), 1 / shape);
    case Kind::pareto:
      return shift + scale * std::exp(-std::log1p(-probability) / shape);
    case Kind::histogram:
      return shift + histogram_quantile(*this, probability);
  }
  CHECK(false, "a distribution is of one of the kinds of its enumeration");
}

double Distribution::mean() const {
  switch (kind) {
    case Kind::constant:
      return shift + scale;
    case Kind::uniform:
      return shift + scale / 2;
    case Kind::exponential:
      return shift + scale;
    case Kind::lognormal:
      return shift + scale * std::exp(shape * shape / 2);
    case Kind::gamma:
      return shift + scale * shape;
    case Kind::weibull:
      return shift + scale * std::tgamma(1 + 1 / shape);
    case Kind::pareto:
      if (shape <= 1) return std::numeric_limits<double>::infinity();
      return shift + scale * shape / (shape - 1);
    case Kind::histogram:
      return shift + histogram_mean(*this);
  }
  CHECK(false, "a distribution is of one of the kinds of its enumeration");
}

}  // namespace simsgd

#include "analysis/calibration/straggler_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/exponential.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/laplace.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/pareto.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <nlopt.hpp>
#include <numbers>
#include <stdexcept>

#include "sim/base/quantiles.hpp"
#include "sim/base/random.hpp"
#include "sim/cluster/stragglers/noise_marginal.hpp"

namespace simsgd::calibration {

namespace {

using Values = std::span<const double>;

// What the likelihoods are made of, of y = x - shift.
struct Moments {
  std::vector<double> y, logs;
  double n = 0, mean = 0, mean_log = 0;

  Moments(Values values, double shift) {
    for (const double x : values) {
      y.push_back(x - shift);
      logs.push_back(std::log(x - shift));
    }
    n = static_cast<double>(y.size());
    mean = mean_of(y);
    mean_log = mean_of(logs);
  }
};

void fit_lognormal(const Moments& of, FamilyFit& fit) {
  double square = 0;
  for (const double each : of.logs) square += (each - of.mean_log) * (each - of.mean_log) / of.n;
  fit.scale = std::exp(of.mean_log);
  fit.shape = std::sqrt(square);
  fit.log_likelihood = -of.n * (of.mean_log + std::log(2 * std::numbers::pi * square) / 2 + 0.5);
}

// ln k - digamma(k) = ln mean - mean ln, by Newton from Minka's start (Estimating a Gamma distribution,
// 2002).
void fit_gamma(const Moments& of, FamilyFit& fit) {
  const double gap = std::log(of.mean) - of.mean_log;
  double k = (3 - gap + std::sqrt((gap - 3) * (gap - 3) + 24 * gap)) / (12 * gap);
  for (int i = 0; i < 20; ++i) {
    const double step = (std::log(k) - boost::math::digamma(k) - gap) / (1 / k - boost::math::trigamma(k));
    const double next = k - step > 0 ? k - step : k / 2;
    if (std::fabs(next - k) < 1e-10 * k) break;
    k = next;
  }
  fit.shape = k;
  fit.scale = of.mean / k;
  fit.log_likelihood =
      of.n * ((k - 1) * of.mean_log - of.mean / fit.scale - std::lgamma(k) - k * std::log(fit.scale));
}

// sum y^k ln y / sum y^k - 1/k = mean ln y, which rises with k: Newton from the moments of the logarithm.
void fit_weibull(const Moments& of, FamilyFit& fit) {
  const double top = *std::ranges::max_element(of.logs);
  double spread = 0;
  for (const double each : of.logs) spread += (each - of.mean_log) * (each - of.mean_log) / of.n;
  double k = std::numbers::pi / std::sqrt(6 * spread), powers = 0;
  for (int i = 0; i < 30; ++i) {
    double first = 0, second = 0;
    powers = 0;
    for (const double each : of.logs) {
      const double log = each - top, power = std::exp(k * log);  // at most 1
      powers += power;
      first += power * log;
      second += power * log * log;
    }
    const double slope = (second - first * first / powers) / powers + 1 / (k * k);
    const double step = (first / powers - 1 / k - (of.mean_log - top)) / slope;
    const double next = k - step > 0 ? k - step : k / 2;
    const bool done = std::fabs(next - k) < 1e-9 * k;
    k = next;
    if (done) break;
  }
  powers = 0;
  for (const double each : of.logs) powers += std::exp(k * (each - top));
  fit.shape = k;
  fit.scale = std::exp(top) * std::pow(powers / of.n, 1 / k);
  fit.log_likelihood = of.n * (std::log(k) - k * std::log(fit.scale) + (k - 1) * of.mean_log - 1);
}

void fit_exponential(const Moments& of, FamilyFit& fit) {
  fit.scale = of.mean;
  fit.log_likelihood = -of.n * (std::log(of.mean) + 1);
}

void fit_pareto(const Moments& of, FamilyFit& fit) {
  fit.scale = *std::ranges::min_element(of.y);
  fit.shape = 1 / (of.mean_log - std::log(fit.scale));
  fit.log_likelihood =
      of.n * (std::log(fit.shape) + fit.shape * std::log(fit.scale) - (fit.shape + 1) * of.mean_log);
}

void fit_inverse_gaussian(const Moments& of, FamilyFit& fit) {
  double gap = 0;
  for (const double each : of.y) gap += (1 / each - 1 / of.mean) / of.n;
  fit.scale = of.mean;
  fit.shape = 1 / gap;
  fit.log_likelihood = of.n * (std::log(fit.shape / (2 * std::numbers::pi)) - 3 * of.mean_log - 1) / 2;
}

void fit_log_laplace(const Moments& of, FamilyFit& fit) {
  const double centre = median(of.logs);
  double distance = 0;
  for (const double each : of.logs) distance += std::fabs(each - centre) / of.n;
  fit.scale = std::exp(centre);
  fit.shape = distance;
  fit.log_likelihood = -of.n * (std::log(2 * distance) + 1 + of.mean_log);
}

// The most likely one of that shift.
FamilyFit fit_given(Family family, double shift, Values values) {
  FamilyFit fit{.family = family, .shift = shift};
  const Moments of(values, shift);
  switch (family) {
    case Family::lognormal:
      fit_lognormal(of, fit);
      break;
    case Family::gamma:
      fit_gamma(of, fit);
      break;
    case Family::weibull:
      fit_weibull(of, fit);
      break;
    case Family::exponential:
      fit_exponential(of, fit);
      break;
    case Family::pareto:
      fit_pareto(of, fit);
      break;
    case Family::inverse_gaussian:
      fit_inverse_gaussian(of, fit);
      break;
    case Family::log_laplace:
      fit_log_laplace(of, fit);
      break;
  }
  fit.parameters = family == Family::exponential ? 1 : 2;
  return fit;
}

// The most likely shift, over the logarithm of its distance below the least value: a grid, because such
// likelihoods have several maxima, then Nelder and Mead (NLopt).
double best_shift(Family family, Values values) {
  const double least = *std::ranges::min_element(values), spread = mean_of(values) - least;
  const double low = std::log(spread / static_cast<double>(values.size())), high = std::log(least);
  if (high <= low) return 0;
  const auto likelihood = [&](double log_distance) {
    return fit_given(family, std::max(0.0, least - std::exp(log_distance)), values).log_likelihood;
  };
  constexpr int kGrid = 12;
  double best = low, most = likelihood(low);
  for (int i = 1; i <= kGrid; ++i) {
    const double at = low + (high - low) * i / kGrid, value = likelihood(at);
    if (value > most) best = at, most = value;
  }
  nlopt::opt search(nlopt::LN_NELDERMEAD, 1);
  search.set_lower_bounds(low);
  search.set_upper_bounds(high);
  search.set_initial_step((high - low) / (2 * kGrid));
  search.set_xtol_abs(1e-5);
  search.set_maxeval(80);
  search.set_max_objective([](const std::vector<double>& x, std::vector<double>&,
                              void* data) { return (*static_cast<decltype(&likelihood)>(data))(x[0]); },
                           const_cast<void*>(static_cast<const void*>(&likelihood)));
  std::vector<double> x = {std::clamp(best, low, high)};
  double reached = 0;
  try {
    search.optimize(x, reached);
  } catch (const std::runtime_error&) {  // rounding ends the search: x is its best
  }
  return std::max(0.0, least - std::exp(x[0]));
}

// use(law) with the Boost distribution of y, or of ln y.
template <class Use>
double with_law(const FamilyFit& fit, const Use& use) {
  namespace law = boost::math;
  switch (fit.family) {
    case Family::lognormal:
      return use(law::lognormal(std::log(fit.scale), fit.shape));
    case Family::gamma:
      return use(law::gamma_distribution<>(fit.shape, fit.scale));
    case Family::weibull:
      return use(law::weibull(fit.shape, fit.scale));
    case Family::exponential:
      return use(law::exponential(1 / fit.scale));
    case Family::pareto:
      return use(law::pareto(fit.scale, fit.shape));
    case Family::inverse_gaussian:
    case Family::log_laplace:
      break;
  }
  return use(law::laplace(std::log(fit.scale), fit.shape));
}

}  // namespace

std::string family_name(Family family) {
  static const char* const kNames[] = {"lognormal",        "gamma",      "weibull", "exponential", "pareto",
                                       "inverse_gaussian", "log_laplace"};
  return kNames[static_cast<std::size_t>(family)];
}

FamilyFit fit_family(Family family, bool shifted, Values values) {
  if (values.size() < 3) throw std::invalid_argument("a family needs at least three values");
  const auto [least, most] = std::ranges::minmax_element(values);
  if (!(*least > 0) || !std::isfinite(*most))
    throw std::invalid_argument("times must be positive and finite");
  if (*least == *most) throw std::invalid_argument("all values are the same: there is nothing to fit");
  FamilyFit fit = fit_given(family, shifted ? best_shift(family, values) : 0, values);
  fit.shifted = shifted;
  fit.parameters += shifted ? 1 : 0;
  return fit;
}

double cdf(const FamilyFit& fit, double value) {
  const double y = value - fit.shift;
  if (y <= 0 || (fit.family == Family::pareto && y <= fit.scale)) return 0;
  if (fit.family == Family::inverse_gaussian)
    return stragglers::inverse_gaussian_cdf(fit.shape / fit.scale, y / fit.scale);
  const double at = fit.family == Family::log_laplace ? std::log(y) : y;
  return with_law(fit, [at](const auto& law) { return boost::math::cdf(law, at); });
}

double quantile(const FamilyFit& fit, double probability) {
  if (fit.family == Family::inverse_gaussian)
    return fit.shift + fit.scale * stragglers::inverse_gaussian_quantile(fit.shape / fit.scale, probability);
  const double y = with_law(fit, [&](const auto& law) { return boost::math::quantile(law, probability); });
  return fit.shift + (fit.family == Family::log_laplace ? std::exp(y) : y);
}

// Distances of a fitted family from what was measured, and the choice among families.

namespace {

struct Distances {
  double ks = 0, anderson_darling = 0;
};

Distances distances(const FamilyFit& fit, std::vector<double> values) {
  constexpr double kLeast = 1e-12;  // a least value that is the law's own least has probability 0
  std::ranges::sort(values);
  for (double& each : values) each = std::clamp(cdf(fit, each), kLeast, 1 - kLeast);
  const auto n = static_cast<double>(values.size());
  Distances far;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(i);
    far.ks = std::max({far.ks, values[i] - at / n, (at + 1) / n - values[i]});
    sum += (2 * at + 1) * (std::log(values[i]) + std::log1p(-values[values.size() - 1 - i]));
  }
  far.anderson_darling = -n - sum / n;
  return far;
}

std::vector<double> measured_quantiles(std::span<const double> values) {
  constexpr std::size_t kMost = 64;
  const std::vector<double> measured(values.begin(), values.end());
  std::vector<double> quantiles;
  const std::size_t steps = std::min(kMost, measured.size() - 1);
  for (std::size_t i = 0; i <= steps; ++i)
    quantiles.push_back(simsgd::quantile(measured, static_cast<double>(i) / static_cast<double>(steps)));
  return quantiles;
}

}  // namespace

Goodness goodness(const FamilyFit& fit, std::span<const double> values, int draws, std::uint64_t seed) {
  const Distances measured = distances(fit, {values.begin(), values.end()});
  int as_far_ks = 0, as_far_ad = 0;
  std::vector<double> drawn(values.size());
  for (int draw = 0; draw < draws; ++draw) {
    Stream stream({seed, Purpose::resampling, 0, static_cast<std::uint64_t>(draw)});
    // No time is negative or 0, and a gamma of a small shape may round to it.
    for (double& each : drawn) each = std::max(quantile(fit, stream.uniform()), 1e-300);
    const Distances far = distances(fit_family(fit.family, fit.shifted, drawn), drawn);
    as_far_ks += far.ks >= measured.ks;
    as_far_ad += far.anderson_darling >= measured.anderson_darling;
  }
  return {.ks = measured.ks,
          .ks_p = (1.0 + as_far_ks) / (draws + 1),
          .anderson_darling = measured.anderson_darling,
          .anderson_darling_p = (1.0 + as_far_ad) / (draws + 1),
          .draws = draws};
}

FamilyChoice choose_family(std::span<const double> values, int draws, std::uint64_t seed,
                           double significance) {
  FamilyChoice choice;
  choice.significance = significance;
  choice.count = values.size();
  for (const Family family : kFamilies)
    for (const bool shifted : {false, true}) choice.fits.push_back(fit_family(family, shifted, values));
  std::erase_if(choice.fits, [](const FamilyFit& fit) { return !std::isfinite(fit.log_likelihood); });
  std::ranges::stable_sort(choice.fits, {}, &FamilyFit::aic);
  choice.best = goodness(choice.fits.front(), values, draws, seed);
  choice.none_fits = std::min(choice.best.ks_p, choice.best.anderson_darling_p) < significance;
  choice.quantiles = measured_quantiles(values);
  return choice;
}

std::size_t thinning_lag(const std::vector<std::vector<double>>& series, double threshold) {
  std::size_t shortest = series.front().size();
  for (const auto& each : series) shortest = std::min(shortest, each.size());
  for (std::size_t lag = 1; lag < shortest; ++lag) {
    double sum = 0;
    for (const auto& each : series) sum += autocorrelation(each, lag);
    if (sum / static_cast<double>(series.size()) < threshold) return lag;
  }
  return std::max<std::size_t>(1, shortest);
}

std::vector<double> thinned(const std::vector<std::vector<double>>& series, std::size_t lag) {
  std::vector<double> all;
  for (const auto& each : series)
    for (std::size_t i = 0; i < each.size(); i += lag) all.push_back(each[i]);
  return all;
}

}  // namespace simsgd::calibration

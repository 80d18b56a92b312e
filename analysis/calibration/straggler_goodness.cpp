// Distances of a fitted family from what was measured, and the choice among families.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/calibration/straggler_families.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/base/random.hpp"

namespace simsgd::calibration {

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
    for (const auto& each : series) {
      const double mean = std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
      double lagged = 0, square = 0;
      for (std::size_t i = 0; i < each.size(); ++i) {
        square += (each[i] - mean) * (each[i] - mean);
        if (i >= lag) lagged += (each[i] - mean) * (each[i - lag] - mean);
      }
      sum += square > 0 ? lagged / square : 0;
    }
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

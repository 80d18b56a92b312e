#include "analysis/statistics/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/statistics/distributions.hpp"
#include "sim/base/check.hpp"

namespace simsgd::statistics {

namespace {

constexpr double kRounding = 1e-12;  // relative

double difference_of(const Pair& pair) {
  const double difference = pair.value - pair.baseline;
  const double size = std::max(std::fabs(pair.value), std::fabs(pair.baseline));
  return std::fabs(difference) <= kRounding * size ? 0 : difference;
}

/// Of an estimate with its standard error.
Difference tested(double value, double error, double degrees, std::size_t count, double level) {
  const double half = student_quantile((1 + level) / 2, degrees) * error;
  const double t = error > 0 ? value / error : value == 0 ? 0 : std::numeric_limits<double>::infinity();
  return {value, Interval{value - half, value + half}, student_two_sided_p(t, degrees), count};
}

}  // namespace

Difference paired_difference(const std::vector<Pair>& pairs, double level) {
  CHECK(!pairs.empty(), "A difference is of one pair at least.");
  std::vector<double> differences;
  double size = 0;
  for (const Pair& pair : pairs) {
    differences.push_back(difference_of(pair));
    size = std::max({size, std::fabs(pair.value), std::fabs(pair.baseline)});
  }
  const double value = mean(differences);
  if (pairs.size() < 2) return {value, {}, 1, pairs.size()};
  const auto n = static_cast<double>(pairs.size());
  const double deviation = standard_deviation(differences);
  return tested(value, deviation <= kRounding * size ? 0 : deviation / std::sqrt(n), n - 1, pairs.size(),
                level);
}

std::optional<Estimate> paired_ratio(const std::vector<Pair>& pairs, double level) {
  CHECK(!pairs.empty(), "A ratio is of one pair at least.");
  std::vector<double> logs;
  for (const Pair& pair : pairs) {
    if (!(pair.value > 0) || !(pair.baseline > 0)) return std::nullopt;
    logs.push_back(std::log(pair.value / pair.baseline));
  }
  Estimate ratio = student_mean(logs, level);
  ratio.value = std::exp(ratio.value);
  if (ratio.interval) ratio.interval = {std::exp(ratio.interval->low), std::exp(ratio.interval->high)};
  return ratio;
}

std::optional<Estimate> paired_speed_up(const std::vector<Pair>& pairs, Better better, double level) {
  if (better == Better::neither) return std::nullopt;
  if (better == Better::more) return paired_ratio(pairs, level);
  std::vector<Pair> swapped;
  for (const Pair& pair : pairs) swapped.push_back({.baseline = pair.value, .value = pair.baseline});
  return paired_ratio(swapped, level);
}

Estimate efficiency(const Estimate& speed_up, double times_workers) {
  CHECK(times_workers > 0, "An efficiency is over a number of workers.");
  Estimate scaled = speed_up;
  scaled.value /= times_workers;
  if (scaled.interval)
    scaled.interval = {scaled.interval->low / times_workers, scaled.interval->high / times_workers};
  return scaled;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    least = std::max(least, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

}  // namespace simsgd::statistics

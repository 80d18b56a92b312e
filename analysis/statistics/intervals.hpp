// What a few seeds say of all: a mean or a median with the interval in which that of all seeds lies.
//
// student      mean -+ t(1 - (1 - level)/2, n - 1) s / sqrt(n).  Student, Biometrika 6 (1908) 1. From n = 2;
//              exact for normal draws, nearly so for means of not too skewed ones.
// bootstrap    bias-corrected and accelerated percentiles of resampled statistics (Efron, JASA 82 (1987)
// 171),
//              whose levels are widened for small n as those of t are (Hesterberg, The American Statistician
//              69 (2015) 371, section 5.2). Says nothing of the distribution, but needs n >= 30.
// order        [x(k), x(n + 1 - k)], the narrowest pair of order statistics that holds the median with at
//              least the level, for any distribution (David and Nagaraja, Order Statistics, section 7.1).
//              From n = 6 at 95 %.
// All functions are pure; resampling is a function of `seed`. How often the intervals hold is measured in
// tests/analysis/statistics.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/base/quantiles.hpp"

namespace simsgd::statistics {

inline constexpr double kUsualLevel = 0.95;
inline constexpr std::size_t kLeastForBootstrap = 30;
/// Runs of which the least and the greatest hold the median in 95 % of all cases.
inline constexpr std::size_t kLeastForMedian = 6;
inline constexpr int kUsualResamples = 2000;

/// Ends may be infinite: nothing is known on that side.
struct Interval {
  double low = 0, high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
  double half_width() const { return (high - low) / 2; }
};

/// A statistic of `count` values; no interval where there are too few for one.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
  std::size_t count = 0;
};

/// Of one value at least; CHECKed, as everywhere below.
double mean(const std::vector<double>& values);
using simsgd::median;
/// With n - 1; 0 of one value.
double standard_deviation(const std::vector<double>& values);

/// Mean with Student's interval, from two values on.
Estimate student_mean(const std::vector<double>& values, double level = kUsualLevel);

/// Median with the interval between order statistics, where there are enough values for the level.
Estimate order_median(const std::vector<double>& values, double level = kUsualLevel);

using Statistic = std::function<double(const std::vector<double>& values)>;
struct Resampling {
  std::uint64_t seed = 1;
  int resamples = kUsualResamples;
};
/// Any statistic with its bootstrap interval, from kLeastForBootstrap values on. Values in another order give
/// another draw of the same interval.
Estimate bootstrap(const std::vector<double>& values, const Statistic& statistic, double level = kUsualLevel,
                   const Resampling& resampling = {});
Estimate bootstrap_mean(const std::vector<double>& values, double level = kUsualLevel,
                        const Resampling& resampling = {});

// The few distributions that this needs, from Boost.Math.

/// Quantile of Student's t at `probability`; `degrees` > 0, need not be whole.
double student_quantile(double probability, double degrees);
/// P(|T| >= |t|).
double student_two_sided_p(double t, double degrees);

double normal_quantile(double probability);
double normal_cdf(double z);

/// P(X <= k), X the number of heads in n throws of a fair coin.
double fair_coin_cdf(std::size_t k, std::size_t n);

}  // namespace simsgd::statistics

// Is one better than another, and by how much. Runs of two algorithms with the same seed meet the same
// stragglers and batches (sim/base/random.hpp), so that differences are taken seed by seed: what both suffer
// from cancels.
//
// difference   d_i = value_i - baseline_i; Student's interval and t test of mean(d) on n - 1 degrees.
// ratio        geometric mean of value_i / baseline_i: exp of Student's interval of log(value_i /
// baseline_i).
//              On the log scale a ratio and its inverse have the same verdict.
// holm         Holm, Scand. J. Statist. 6 (1979) 65: the probability that any of the verdicts of a table is
//              wrong stays below the level, however they depend on each other.
#pragma once

#include <string>
#include <vector>

#include "analysis/statistics/intervals.hpp"
#include "sim/recording/better.hpp"

namespace simsgd::statistics {

struct Pair {
  double baseline = 0, value = 0;  ///< of the same seed
};

struct Difference {
  double value = 0;                  ///< value - baseline, mean
  std::optional<Interval> interval;  ///< none of one pair
  double p = 1;                      ///< two-sided, of no difference; 1 where there is no interval
  std::size_t count = 0;             ///< of pairs
};

/// Of one pair at least. Differences within 1e-12 of the values are none: rounding, where times do not depend
/// on the seed.
Difference paired_difference(const std::vector<Pair>& pairs, double level = kUsualLevel);

/// value / baseline; nothing where any number is not above 0.
std::optional<Estimate> paired_ratio(const std::vector<Pair>& pairs, double level = kUsualLevel);

/// How many times as fast as the baseline: the ratio of what is to be large, its inverse of what is to be
/// small.
std::optional<Estimate> paired_speed_up(const std::vector<Pair>& pairs, Better better,
                                        double level = kUsualLevel);
/// Speed-up over how many times as many workers: 1 is linear.
Estimate efficiency(const Estimate& speed_up, double times_workers);

/// Holm's adjusted p values, in the order of `p`: reject where they are at most 1 - level.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace simsgd::statistics

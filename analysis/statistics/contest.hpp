// Groups of runs beside each other: one tau for all of them, one rule for ties, one best. Tables,
// comparisons, charts, claims and advice all ask here.
//
// tau          up to where every group is known: the earliest of the groups' last times at which a run was
//              seen that never arrived. None where the last run of every group arrives.
// value        of a run in its group's mean up to tau: min(T, tau) where nobody is censored before tau. Else
//              the pseudo-value n m - (n - 1) m(-i) of the restricted mean m (Andersen, Klein and Rosthoej,
//              Biometrika 90 (2003) 15), all of a group moved alike so that their mean is m.
// difference   d_i = value_i - baseline_i of the same seed: runs of two algorithms with it meet the same
//              stragglers and batches (sim/base/random.hpp), and what both suffer from cancels. Student's
//              interval and t test of mean(d) on n - 1 degrees.
// ratio        geometric mean of value_i / baseline_i: exp of Student's interval of its logarithm. On the log
//              scale a ratio and its inverse have the same verdict.
// holm         Holm, Scand. J. Statist. 6 (1979) 65: the probability that any of the verdicts of a table is
//              wrong stays below the level, however they depend on each other.
// arrivals     of the seeds with which one of two arrives by tau and the other does not, how many favour one:
//              McNemar, Psychometrika 12 (1947) 153, exact. Where there are such seeds, p is twice the
//              smaller one of both tests.
// tie          where p, after Holm's correction over all that are compared, is above 5 %. Equal values are a
//              tie, also of one seed. Two groups of which no run arrives by tau are not called a tie.
// undecided    two deterministic groups differ for certain, in the model. The difference is undecided where
// it
//              is smaller than the model's own error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "analysis/statistics/intervals.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::statistics {

// Times to a target that some runs do not reach: a run that ends before it is censored there, never dropped
// (dropping it would favour who often fails).
//
// curve            S(t) = product over arrivals t_i <= t of (1 - d_i / n_i), the share still on its way.
//                  Kaplan and Meier, JASA 53 (1958) 457; variance S^2 sum d_i / (n_i (n_i - d_i)), Greenwood
//                  1926.
// median           first t with S(t) <= 1/2 (where S stays 1/2 until the next arrival, midway), unknown
//                  where S stays above. Interval: the t at which log(-log S)'s interval holds 1/2 (Brookmeyer
//                  and Crowley, Biometrics 38 (1982) 29; Kalbfleisch and Prentice's transform), its upper end
//                  often infinite. It holds for many runs; for fewer than about ten it is rough.
// restricted mean  mean of min(T, tau) = integral of S up to tau (Irwin, J. Hyg. 47 (1949) 188). Where nobody
//                  is censored before tau its interval is Student's of min(T, tau).
// Agrees with the leukaemia trial of Freireich et al., Blood 21 (1963) 699: tests/analysis/statistics.cpp.

/// A run's time to the target, or, where it did not arrive, the time until which it was seen.
struct Observation {
  double time = 0;
  bool arrived = true;
};

/// The curve from `time` on, until the next step.
struct SurvivalStep {
  double time = 0;
  std::size_t at_risk = 0, arrived = 0;  ///< just before; at that time
  double share = 0;                      ///< S: of runs that are still on their way
  double standard_error = 0;             ///< Greenwood's; 0 where the share is
};

/// One step for each time at which any arrives, ascending. A run that ends when another arrives counts as on
/// its way until then.
std::vector<SurvivalStep> kaplan_meier(const std::vector<Observation>& observations);

/// No value where fewer than half arrive: it is then above the last time seen.
struct SurvivalMedian {
  std::optional<double> value;
  std::optional<Interval> interval;  ///< the upper end may be infinite; from kLeastForMedian runs on
  std::size_t count = 0, arrived = 0;
};
SurvivalMedian survival_median(const std::vector<Observation>& observations, double level = kUsualLevel);

struct RestrictedMean {
  double value = 0;
  double standard_error = 0;  ///< Greenwood's, without a factor n / (n - 1)
  std::optional<Interval>
      interval;      ///< Student's quantile, and that factor, within [0, tau]; none of one run
  double until = 0;  ///< tau
  std::size_t count = 0, arrived = 0;
};
/// `until`: tau, or the last time seen. Beyond the last time seen S stays where it is.
RestrictedMean restricted_mean(const std::vector<Observation>& observations, std::optional<double> until = {},
                               double level = kUsualLevel);

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

/// A group's runs by seed. For a metric other than a time to target, every run arrives, at its value.
using Runs = std::map<std::int64_t, Observation>;

std::optional<double> common_tau(const std::vector<Runs>& groups);

/// How many arrive by tau.
std::size_t arrivals_by(const Runs& runs, std::optional<double> tau);

/// Of each run what it says of the group's mean up to tau, which is their mean.
std::map<std::int64_t, double> values_until(const Runs& runs, std::optional<double> tau);

/// Two groups, seed by seed.
struct Comparison {
  std::size_t pairs = 0;
  std::optional<Difference> difference;  ///< none without a pair; its p has the arrivals in it
  std::optional<Estimate> ratio, speed_up;
  bool unseen = false;           ///< neither has a run that arrives by tau
  std::optional<double> until;   ///< tau, where a run of either is on its way then
  std::optional<double> off_by;  ///< of deterministic groups: how far the model may be off in the difference
};
Comparison compare(const Runs& baseline, const Runs& runs, std::optional<double> tau, Better better,
                   std::optional<double> off_by = {}, double level = kUsualLevel);

/// unknown: one seed, or no pair. unseen: nobody arrived while both were seen.
enum class Verdict { unknown, unseen, undecided, tie, less, more };
/// `corrected_p`: Holm's, over all that are compared.
Verdict verdict(const Comparison& comparison, double corrected_p, double level = kUsualLevel);

/// Holm's p of each; 1 where nothing was tested.
std::vector<double> corrected(const std::vector<Comparison>& comparisons);
/// With Holm's correction over all of them.
std::vector<Verdict> verdicts(const std::vector<Comparison>& comparisons, double level = kUsualLevel);

/// Which of several groups is best, and what the others are beside it.
struct Contest {
  std::optional<double> tau;
  std::vector<std::optional<double>> means;  ///< up to tau; none of a group without runs
  /// None where fewer than two groups have runs, where nobody arrives by tau, or where no way is better.
  std::optional<std::size_t> best;
  std::vector<std::optional<Comparison>> against_best;  ///< of groups that have runs, but the best
  std::vector<Verdict> verdicts;                        ///< unknown of those that are not compared
};
/// How far the model may be off in the difference of two groups; nothing where chance has a part in either.
using OffBy = std::function<std::optional<double>(std::size_t one, std::size_t other)>;
/// `shown`: chosen by these instead of by the means, where a table shows something else. Where it has nothing
/// the group is behind those that have.
Contest contest(const std::vector<Runs>& groups, Better better, const OffBy& off_by = {},
                const std::vector<std::optional<double>>& shown = {});

}  // namespace simsgd::statistics

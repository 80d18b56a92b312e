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
#pragma once

#include <vector>

#include "analysis/statistics/intervals.hpp"

namespace simsgd::statistics {

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

}  // namespace simsgd::statistics

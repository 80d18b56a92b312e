// How good predictions are: each point measured, predicted, its error, its interval; and over points.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/uncertainty.hpp"
#include "analysis/parameter_draws.hpp"

namespace simsgd {

struct JudgedPoint {
  std::size_t point = 0;  ///< of Points
  double measured = 0, predicted = 0;
  std::vector<Interval> intervals;  ///< of a tested one: those that `run` and `bench` give
  double noise = 0;                 ///< relative, of one measurement; 0 where nothing repeats it

  double error() const { return predicted / measured - 1; }
};

/// Relative errors over points.
struct ErrorSummary {
  std::size_t count = 0;
  double mean = 0, median = 0, p95 = 0, worst = 0;  ///< of their absolute values
  double bias = 0;                                  ///< mean of the signed ones
  std::size_t worst_point = 0;
  std::vector<std::pair<double, double>> inside;  ///< level, share of points inside their interval
};

/// One way of predicting a test: the model, interpolation, or the scenario as it is without a fit.
struct Judgement {
  std::string way;
  std::vector<JudgedPoint> points;
  ErrorSummary all;
  std::map<int, ErrorSummary> by_workers;
  std::map<int, ErrorSummary> by_octave;  ///< log2 of bytes, rounded down
};

/// `weights`: of the points, as they are judged.
ErrorSummary summarise_errors(const std::vector<JudgedPoint>& points, const std::vector<double>& weights);
/// The statistic that a test names: mean, median, p95 or worst.
double judged_by(const ErrorSummary& summary, const std::string& statistic);

/// Relative standard deviation of measurements that differ in campaign, source or placement alone; nothing
/// where none are repeated.
std::optional<double> noise_of(const std::vector<Measurement>& all);

struct Judge {
  const Fitter& fitter;
  const Fitted& best;
  const Uncertainty& uncertainty;
  double noise = 0;
};

/// Of test `number` of the spec: the model first, then what it is compared with, where that says anything.
std::vector<Judgement> judge_test(const Judge& judge, std::size_t number);
/// Of the fitted points. Without intervals: how many hold what they were fitted to says nothing.
Judgement judge_fit(const Judge& judge);

/// log-log between fitted measurements of the same operation, workers and quantity; NaN outside of them.
std::vector<double> interpolate(const Points& points, const std::vector<std::size_t>& known,
                                const std::vector<std::size_t>& wanted);

}  // namespace simsgd

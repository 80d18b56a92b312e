// From a spec to a fitted model and a judgement of it: `simsgd calibrate` and `simsgd validate`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/uncertainty.hpp"
#include "analysis/parameter_draws.hpp"

namespace simsgd {

// How good predictions are: each point measured, predicted, its error, its interval; and over points.

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

struct CalibrationSettings {
  std::string data;  ///< directory that the spec's files are relative to
  int jobs = 1;
  std::function<bool()> interrupted{};
  /// A stage begins (`simulations` 0), or goes on: so many were made for this model in all.
  std::function<void(const std::string& stage, std::uint64_t simulations)> progress{};
};

/// One of a spec's models, fitted.
struct ModelResult {
  std::string name;
  Fitted fitted;
  std::vector<LeftOut> left_out;
  std::vector<double> part_errors;  ///< mean relative error of each part left out
  double left_out_error = 0;        ///< their mean; infinity where nothing could be left out
  std::unique_ptr<RunMemo> memo = std::make_unique<RunMemo>();  ///< of its runs
};

struct Calibration {
  Spec spec;
  std::vector<Measurement> measurements;
  std::vector<ModelResult> models;
  std::size_t chosen = 0;
  Points points;               ///< of the chosen model
  std::vector<double> beside;  ///< of each point on data sheets alone; empty where no study is beside
  Uncertainty uncertainty;
  double noise = 0;
  bool noise_known = false;
  Judgement fit;
  std::vector<std::vector<Judgement>> tests;  ///< of each test of the spec
  std::vector<std::string> warnings;

  const ModelSpec& model() const { return spec.models[chosen]; }
  const Fitted& best() const { return models[chosen].fitted; }
};

/// Throws ConfigError (IdleParameters), RunError, Interrupted.
std::unique_ptr<Calibration> calibrate(Spec spec, const CalibrationSettings& settings);

/// Intervals of the fitted numbers, of so much of the draws: (pointer, low, high).
struct NumberInterval {
  std::string pointer;
  double value = 0, low = 0, high = 0;
  bool known = false;  ///< not without draws, where all of them end at a bound, or for an ensemble's choice
};
std::vector<NumberInterval> number_intervals(const Calibration& calibration, double level);

/// The cluster with what was fitted in place, and the section "calibration" that says where it comes from.
/// `date`: as "2026-01-31".
Json calibrated_cluster(const Calibration& calibration, const std::string& directory,
                        const std::string& date);

/// For people, and for programs.
std::string calibration_text(const Calibration& calibration);
nlohmann::ordered_json calibration_json(const Calibration& calibration);

// How good predictions of what was left out are: each cell beside its fit, with an interval that was fixed
// before the cell was looked at.

/// A point as the fit to the other parts predicts it.
struct LeftOutPoint {
  double predicted = 0;
  double low = 0, high = 0;            ///< of nine tenths; low = high = 0 where no other part tells
  double half_low = 0, half_high = 0;  ///< of half
  double log_error = 0;
};

/// All parts of one column, left out one after another.
struct LeftOutColumn {
  std::string column;
  std::map<std::size_t, LeftOutPoint> points;  ///< by number in Points
  std::size_t inside = 0, with_interval = 0;
  double mean_error = 0;  ///< of |predicted / measured - 1|
  double mean_width = 0;  ///< of high / low - 1, of those with an interval
};

/// An interval reaches as far on both sides as the errors of the *other* parts tell (uncertainty.hpp).
std::vector<LeftOutColumn> left_out_columns(const Calibration& calibration);

/// Bounds of 95 % of a share, of `inside` in `count` (Clopper and Pearson).
std::pair<double, double> binomial_interval(std::size_t inside, std::size_t count);

/// Fitted, left out and data sheets side by side, cell by cell, as a page of Markdown.
std::string calibration_markdown(const Calibration& calibration);

}  // namespace simsgd

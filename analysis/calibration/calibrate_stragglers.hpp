// A spec with "stragglers": the straggler that fits the times of workers and steps, and how it predicts
// others.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/straggler_fit.hpp"

namespace simsgd::calibration {

// Judges a fitted straggler model by steps that it was not fitted on: what a synchronous step waits for, the
// slowest of the workers, and how long slowness lasts. The prediction is the simulated plug-in's, never a
// formula's. Checked by tests/calibration/straggler_judging.cpp.

inline constexpr std::size_t kJudgedLag = 20;

struct StragglerStatistics {
  double slowest_mean_s = 0;  ///< over steps, of the slowest worker's time
  double slowest_p95_s = 0;
  /// Mean over workers of the autocorrelation at lag 20; missing in fewer than 40 steps.
  std::optional<double> lag_20;
};
StragglerStatistics statistics_of(const StepTable& table);

struct JudgedStatistic {
  std::string name;
  double measured = 0;
  double predicted = 0;      ///< mean over seeds of as many steps as were measured
  double low = 0, high = 0;  ///< where one such measurement lies, with seeds and parameters drawn
  bool inside() const { return low <= measured && measured <= high; }
  double error() const { return predicted / measured - 1; }  ///< relative
};

struct StragglerVerdict {
  std::vector<JudgedStatistic> statistics;
  double level = 0.9;  ///< of the intervals
  /// Every statistic lies in its interval.
  bool passes() const;
  /// A line for each statistic, and the verdict in a sentence.
  std::string text() const;
};

struct StragglerJudging {
  int seeds = 200;
  double level = 0.9;
  std::uint64_t first_seed = 1000;
  /// The held-out steps follow those of the fit (`continued`), else they are of another run.
  bool continues = false;
  /// The steps that were fitted. Where the others follow them, the autocorrelation of all of them together is
  /// judged too: within half of a job its mean takes most of a slow change with it.
  const StepTable* fitted = nullptr;
};

/// `held_out`: of the same workers. Throws std::invalid_argument where they are others.
StragglerVerdict judge(const StragglerFit& fit, const StepTable& held_out, const StragglerJudging& how = {});

/// What was fitted: parameters with intervals, families by AIC, the p-values.
std::string report(const StragglerFit& fit);

}  // namespace simsgd::calibration

namespace simsgd {

struct StragglerCalibration {
  Spec spec;
  calibration::StragglerFit fit;
  std::optional<calibration::StragglerVerdict> verdict;  ///< of the first test
};

/// Throws ConfigError with what is wrong with the measurements.
StragglerCalibration calibrate_stragglers(Spec spec, const CalibrationSettings& settings);

std::string straggler_text(const StragglerCalibration& calibration);
nlohmann::ordered_json straggler_json(const StragglerCalibration& calibration);
/// The section "stragglers" of a scenario.
Json straggler_section(const StragglerCalibration& calibration);

}  // namespace simsgd

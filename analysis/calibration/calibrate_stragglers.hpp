// A spec with "stragglers": the straggler that fits the times of workers and steps, and how it predicts
// others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/straggler_judging.hpp"

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

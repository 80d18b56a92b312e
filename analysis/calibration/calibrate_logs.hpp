// A calibration of logs alone, by the spec that is made of them (log_spec.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/log_spec.hpp"

namespace simsgd {

/// A fit of logs, with what it tells and what it cannot: sentences.
struct LogCalibration {
  std::unique_ptr<Calibration> calibration;
  std::vector<std::string> told;
  Json spec;  ///< that was fitted: without the parameters that no measurement depends on
};

/// Parameters that no measurement depends on keep NCCL's own values, which `told` says. Throws as
/// calibrate().
LogCalibration calibrate_logs(LogSpec logs, const CalibrationSettings& settings);

}  // namespace simsgd

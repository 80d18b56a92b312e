// A calibration of logs alone, by the spec that is made of them: nccl-tests, RCCL's, OSU's, NCCL Inspector's,
// our own micro-benchmarks. The spec has a default model of NCCL's stack, whose ratios are those of NCCL's
// tuning model (sim/stacks/nccl.cpp), beside one ring.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/calibration/calibrate.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

struct LogSettings {
  std::optional<int> gpus_per_node;  ///< where logs do not tell on how many nodes they ran
  std::string device;                ///< "devices/h100.json"; "": the shipped one that the logs name
};

/// What the logs say of the machine, and the spec that is made of it.
struct LogSpec {
  nlohmann::json spec;             ///< as a file of scenarios/calibration: a start for one of one's own
  std::vector<std::string> notes;  ///< what had to be taken for granted
};

/// Whether the one file is a spec, and no measurements.
bool is_spec(const std::string& path);

/// Throws ConfigError with everything that the logs lack.
LogSpec spec_of_logs(const std::vector<std::string>& logs, const LogSettings& settings);

/// A fit of logs, with what it tells and what it cannot: sentences.
struct LogCalibration {
  std::unique_ptr<Calibration> calibration;
  std::vector<std::string> told;
  Json spec;  ///< that was fitted: without the parameters that no measurement depends on
};

/// Parameters that no measurement depends on keep NCCL's own values, which `told` says. Throws as
/// calibrate().
LogCalibration calibrate_logs(LogSpec logs, const CalibrationSettings& settings);

// What logs of collectives tell of the machine that they were measured on.

/// What the logs tell of a machine.
struct LogMachine {
  int gpus_per_node = 1, nodes = 1;
  std::set<int> workers;
  std::set<std::string> operations;
  std::map<std::string, double> from_bytes;  ///< of a file: where launches no longer hide what happens
  std::string device;
  /// Largest bus bandwidth: of operations inside a node, and between nodes; 0: none was measured.
  double inside_Bps = 0, between_Bps = 0;
  /// The largest size, where bus bandwidth still grew there; 0: sizes reach far enough.
  double inside_cut = 0, between_cut = 0;
};

/// `rows`: times of collectives that the logs have. Throws ConfigError with everything that the logs lack.
LogMachine machine_of_logs(const std::vector<std::string>& logs, const LogSettings& settings,
                           const std::vector<Measurement>& rows);

}  // namespace simsgd

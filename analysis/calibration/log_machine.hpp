// What logs of collectives tell of the machine that they were measured on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/calibration/log_spec.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

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

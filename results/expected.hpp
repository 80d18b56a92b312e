// Simulated against measured: a scenario's `expected` values, which the loader has already reduced to those
// whose `when` holds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace simsgd {

struct ExpectedOutcome {
  std::string point;  ///< label of the sweep's point; empty for a single run
  std::string metric, unit;
  double expected = 0;
  std::optional<double> simulated;  ///< nothing where the run has no such metric
  double tolerance = 0;             ///< relative
  std::string source;

  /// (simulated - expected) / |expected|; infinite where only one of them is 0, or nothing was simulated.
  double error() const;
  bool holds() const;
};

/// One for each element of the scenario's `expected`, in its order.
std::vector<ExpectedOutcome> compare_expected(const nlohmann::ordered_json& document,
                                              const std::string& point = "");

/// Metric, expected, simulated, error, tolerance, ok or FAIL, source; a line below tells how many hold.
std::string expected_table(const std::vector<ExpectedOutcome>& outcomes);

/// False also where nothing is expected: a check that compares nothing does not hold.
bool all_hold(const std::vector<ExpectedOutcome>& outcomes);

}  // namespace simsgd

// What a calibrated cluster's numbers, and the settings that go with them, may be besides what they are.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/widening.hpp"
#include "scenarios/language/calibration_draws.hpp"
#include "scenarios/language/scenario.hpp"

namespace simsgd {

bool is_calibrated(const Scenario& scenario);

/// The one way to an interval, of `run`, `bench` and `validate` alike: what draws give, and from the value
/// itself at least as far as `reach`. One for each of kIntervalLevels. Draws that are NaN failed and are
/// ignored; at least two draws are needed for an interval, otherwise the result is empty.
std::vector<Interval> intervals_of(double value, std::vector<double> drawn, const Reach& reach);

/// The draws of a scenario's calibrated cluster, as far as they are about this scenario: a number or setting
/// that is not as the calibration found it keeps its value, and so does a setting that the algorithm lacks.
/// Beyond what was measured deviations grow with each doubling (analysis/widening.hpp).
class ParameterDraws {
 public:
  /// Of a scenario that is_calibrated() and its job.
  ParameterDraws(const Scenario& scenario, const Job& job)
      : ParameterDraws(scenario, job.workers(), job.workload.model_bytes(), std::nullopt) {}
  /// Of one operation by itself, or a message (""), on the cluster of a scenario that needs nothing else.
  ParameterDraws(const Scenario& scenario, int workers, double bytes, const std::string& operation)
      : ParameterDraws(scenario, workers, bytes, std::optional(operation)) {}

  std::size_t count() const { return count_; }
  /// How far intervals of this scenario's times reach at least, on both sides: as far as what was left out of
  /// the fit was off, and further where nothing like this was fitted (analysis/widening.hpp).
  const Reach& reach() const { return reach_; }
  /// What deviations of the parameters are multiplied by.
  double widening() const { return factor_; }
  /// Whether communication alone was calibrated: of computing its draws tell nothing.
  bool operations_only() const {
    return calibration_.measured.workloads && calibration_.measured.workloads->empty();
  }
  /// What is not drawn, what is drawn wider, and what nothing is known of.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Whether the scenario's own seed is one of the settings that are drawn.
  bool draws_seed() const;
  /// Pointers of `base` with their values in draw `k`, modulo the count of draws.
  std::vector<std::pair<std::string, Json>> values(const Scenario& base, std::size_t k) const;
  /// `base` with these.
  Scenario scenario(const Scenario& base, std::size_t k) const;

 private:
  ParameterDraws(const Scenario& scenario, int workers, double bytes,
                 const std::optional<std::string>& operation);
  void find_changed();
  void choose_settings(const Json& resolved);
  bool is_changed(const std::string& pointer) const;
  void find_reach(const Json& resolved, double workers_beyond, const std::optional<std::string>& operation,
                  double size);
  Reach reach_of_operation(const std::string& operation);
  bool is_unlike_batch(const std::string& name, const Json& workload);
  bool is_unlike(const char* what, const std::optional<std::vector<std::string>>& fitted,
                 const std::string& name, bool told);
  void note(int workers, double bytes, bool operation);

  Json cluster_;
  CalibrationSection calibration_;
  std::size_t count_ = 0;
  double factor_ = 1;
  Reach reach_{};
  std::vector<DrawnSetting> settings_;  ///< that this scenario draws
  std::vector<std::string> changed_, notes_;
};

}  // namespace simsgd

// A cell of a table: the runs that differ in their seed alone, and what they say together. Where chance has
// no part in them, two cells differ for certain in the model, but a difference below its error decides
// nothing.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/frame/measure.hpp"
#include "analysis/runs/results.hpp"
#include "analysis/statistics/contest.hpp"

namespace simsgd::frame {

/// The resolved scenario of a run, by its key (RunDetails).
using ScenarioOf = std::function<nlohmann::ordered_json(const std::string& key)>;

/// Whether no seed changes this metric of these runs, of one setting: it is equal in all of them, and not by
/// chance. Of what goes with time, computing and straggling are equal too; of what is learned or counted, all
/// metrics. Of a single run, whether nothing in its scenario is drawn.
bool is_deterministic(const ScenarioOf& scenario_of, const std::string& metric,
                      const std::vector<const ResultPoint*>& runs);

/// How far the model may be off in the difference of a metric, in its unit; nothing unless both are
/// deterministic. On a calibrated cluster, as far as half of what was left out of the fit was off. Else as
/// far as half of the steps that were predicted from data sheets were off (data_sheet.hpp). 0 of what does
/// not go with time.
std::optional<double> off_by(const ScenarioOf& scenario_of, const std::string& metric,
                             const std::vector<const ResultPoint*>& one,
                             const std::vector<const ResultPoint*>& other);

struct CellQuestion {
  enum class Statistic { mean, median } statistic = Statistic::mean;
  enum class Method { student, bootstrap } method = Method::student;  ///< of a mean
};

/// What the runs of a cell say of a measure.
struct CellSummary {
  std::size_t values = 0, censored = 0, none = 0, failed = 0, not_run = 0;
  /// No value where no run has one; nor a mean where nobody arrives by tau, nor a median where fewer than
  /// half arrive: it is then above `seen_until`.
  std::optional<double> value;
  std::optional<statistics::Interval> interval;  ///< 95 %
  std::string statistic;                         ///< "mean", "median", "restricted mean"
  /// "Student", "bootstrap", "order statistics", "Kaplan-Meier"; "deterministic" of what no seed changes; ""
  /// without an interval.
  std::string method;
  std::size_t arrived = 0;      ///< of the values, those by tau
  std::optional<double> until;  ///< tau, where a run is on its way then
  double seen_until = 0;        ///< tau; of a median the last time at which any run was seen

  std::size_t count() const { return values + censored; }
  bool above_seen() const { return !value && count() > 0; }
};
/// `tau`: that of all cells that it is compared with. `deterministic`: no seed changes it.
CellSummary summarise(const std::vector<Sample>& samples, const CellQuestion& question,
                      std::optional<double> tau, bool deterministic);

/// Cells that are compared with one another (statistics::contest): up to one tau, with the model's own error
/// where nothing is drawn. `shown`: what they are chosen by instead of the mean.
statistics::Contest contest(const Frame& frame, const Measure& measure,
                            const std::vector<std::vector<Sample>>& cells,
                            const std::vector<std::optional<double>>& shown = {});

/// Those that ended, by seed; censored ones have not arrived.
statistics::Runs runs_of(const std::vector<Sample>& samples);

}  // namespace simsgd::frame

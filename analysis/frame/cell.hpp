// A cell of a table: the runs that differ in their seed alone, and what they say together. Where chance has
// no part in them, two cells differ for certain in the model, but a difference below its error decides
// nothing.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/frame/frame.hpp"
#include "analysis/runs/results.hpp"
#include "analysis/statistics/contest.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::frame {

// What is asked of every run: a metric, or a value of one of its curves.
//   time_to_target_s          a metric; a run that was asked for a target and did not meet it is censored at
//                             the end of its simulated time
//   test_accuracy@161s        a curve after so much simulated time, straight between its values; after its
//                             last value that one, before its first none
//   consensus_distance@mean   the mean of a curve's values

struct Measure {
  std::string name;   ///< as it was asked for
  std::string curve;  ///< empty: a metric
  double at_s = 0;    ///< of a curve; 0: its mean
  std::string unit;   ///< SI: "s", "B", "1"; empty where it is not known
  Better better = Better::neither;
};

/// What a point has of it.
struct Sample {
  enum class Kind { value, censored, none, failed, not_run };
  const ResultPoint* point = nullptr;
  Kind kind = Kind::not_run;
  double value = 0;  ///< SI; where censored, the time until which it was seen
};

/// "a,b": what is none, or is of no run of the frame, goes to `errors`.
std::vector<Measure> parse_measures(const Frame& frame, const std::vector<std::string>& names,
                                    std::vector<InputError>& errors);

/// Whether the run was asked to reach a target.
bool has_target(const Frame& frame, const ResultPoint& point);
Sample sample_of(const Frame& frame, const ResultPoint& point, const Measure& measure);
std::vector<Sample> samples_of(const Frame& frame, const std::vector<const ResultPoint*>& points,
                               const Measure& measure);
/// Of samples that ended well, their points.
std::vector<const ResultPoint*> points_of(const std::vector<Sample>& samples);

/// Names of metrics that any of the points has, in the order in which they are shown.
std::vector<std::string> metrics_of(const std::vector<const ResultPoint*>& points);

/// Straight between the values of a curve; after its last one that, before its first one none.
std::optional<double> value_at(const std::vector<CurvePoint>& curve, double time_s);

/// Its unit and which way it is better, where it is in the table of metrics.
Measure measure_of_metric(const std::string& name);

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

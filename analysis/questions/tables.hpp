// The tables that the verbs of `simsgd results` print.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/frame/cell.hpp"
#include "analysis/frame/frame.hpp"
#include "analysis/statistics/intervals.hpp"
#include "results/text_table.hpp"

namespace simsgd::questions {

using namespace frame;

// `simsgd results list` and `show`, and all points as rows: what a store holds, without statistics.

/// A row for each study: its points, how many are done, its axes; the metrics that its runs have.
Table studies_table(const StoredResults& results, const std::string& file);

/// A row for each point of a frame: where it stands, how it ended, and, for programs, all its metrics.
Table points_table(const Frame& frame);

/// Adds to that table where nine tenths of a run's times may lie: for programs the ends of every metric that
/// has such an interval, "NAME_low_90" and "NAME_high_90", for people the mean time of a step. Returns how
/// many results were kept without intervals.
std::size_t add_intervals(const Frame& frame, Table& points);

/// A point by its number, from 1 as `sweep plan` counts: all its metrics, its busiest links. Throws
/// ConfigError.
Table point_table(const Frame& frame, const std::string& number);

// `simsgd results table`: a measure over the axes of a study, mean or median over seeds in each cell.

struct SeedTableQuestion {
  std::vector<std::string> rows;      ///< axes; none: all that vary and are not columns
  std::vector<std::string> columns;   ///< axes
  std::vector<std::string> measures;  ///< one at least; with `columns`, one exactly
  CellQuestion cell;
  /// None: the values themselves. Else, in each row, the first value of the one axis in `columns` at which
  /// the measure is at least this (at most, where less is better), a column for each.
  std::vector<double> reaches;
};

/// Among the cells of a row that differ in what is chosen (of a column, where no column is chosen) the best
/// is marked "*", where the measure has a better way, "=" what ties with it, and "~" what differs from it by
/// less than the model is off by, with how far that is (statistics::contest, with Holm's correction). Cells
/// that differ in a circumstance (frame.hpp) are not compared. `errors`: what was wrong with the question so
/// far. The best is chosen after the fact, which favours it a little. Throws ConfigError where the question
/// names what is not there, or leaves an axis out that varies inside a cell; RunError where no run has a
/// result.
Table seed_table(const Frame& frame, const SeedTableQuestion& question, std::vector<InputError> errors);

// `simsgd results compare`: every value of an axis against one of them, seed by seed, in every cell of the
// other axes.

struct BaselineQuestion {
  std::string by, baseline;
  std::vector<std::string> measures;
};

/// Difference and speed-up (of what is not a time: ratio to the baseline) with 95 % intervals, p with Holm's
/// correction over all rows, and a verdict; over numbers of workers also the efficiency of throughput and
/// time to target. Where runs are censored, of times up to tau, one for all values of the axis (contest.hpp).
/// Throws as seed_table.
Table baseline_table(const Frame& frame, const BaselineQuestion& question, std::vector<InputError> errors);

/// "faster", "slower", "better", "worse", "less", "more", "tie", "undecided"; "one seed", "no pair" or
/// "nobody arrives" where nothing is known.
std::string verdict_text(const statistics::Comparison& comparison, double corrected_p,
                         const Measure& measure);

// `simsgd results winners`, and the first lines of a report: what is best for each value of the
// circumstances, by how much, how sure that is, and what is best over all of them.

/// What a study is first asked for: the time to its target, else throughput, else the time of a step; nothing
/// where its runs have none of these.
std::optional<Measure> headline_measure(const Frame& frame);

struct WinnersQuestion {
  std::string measure;  ///< empty: headline_measure
};

/// A row for each value of the circumstances (frame.hpp) in which at least two choices ran: the best choice,
/// what it reaches, how far the next one is behind, and whether chance or the model's error may have made
/// that. A note says which choice is best over all circumstances: that whose values, over the best of each,
/// have the least geometric mean. `errors`: what was wrong with the question so far. Throws ConfigError, also
/// where the measure has no better way, or nothing that is chosen varies; RunError where no run has a result.
Table winners_table(const Frame& frame, const WinnersQuestion& question, std::vector<InputError> errors);

// A real run beside its simulation, or any run beside another: the error of each part of the step, how far
// the distributions of what is random are apart, and whether the learning curves are the same.

/// Greatest difference of the distribution functions of two samples (Kolmogorov-Smirnov), 0 to 1; 1 where
/// one of them is empty and the other is not, 0 where both are. Values are counted in whole units of
/// `resolution`; where it is 0 only rounding (a billionth of the greatest) does not count.
double ks_distance(std::vector<double> a, std::vector<double> b, double resolution = 0);

/// Each a directory that a run wrote, or its result.json; where both have steps.csv, distributions are taken
/// from those, else from the documents' histograms. Waits are also compared in hundredths of a step: a real
/// wait is never exactly none, as a simulated one often is. Errors are those of `other` against `one`,
/// relative to `one`: of a simulation against the real run. Throws ConfigError.
Table run_comparison(const std::string& one, const std::string& other);

// Numbers of a measure as people read them: one unit for all that are compared, and intervals.

/// For values in this SI unit.
CommonUnit unit_for(const std::string& si_unit, const std::vector<double>& values);

/// For an axis: times in a unit in which the largest value lies between 1 and some hundreds.
CommonUnit axis_unit(const std::string& si_unit, double largest);

/// "12.3 ± 0.4"; "23 [13, inf]" where the arms differ; "12.3" without an interval. `plus`: "+1.2 ± 0.4".
std::string shown_estimate(double value, const std::optional<statistics::Interval>& interval,
                           const CommonUnit& unit, bool plus = false);

/// A cell of a table: "> 161" where nobody arrives by then (of a median: fewer than half), "≥ 150.1 ± 3.0" of
/// a restricted mean, "failed", "-".
std::string shown_cell(const CellSummary& summary, const CommonUnit& unit);

/// The unit as it follows a name, " (ms)"; empty if there is none.
std::string in_brackets(const CommonUnit& unit);

/// Below a table of times that are compared up to these taus.
std::string note_on_tau(const std::vector<double>& taus, const CommonUnit& unit);

/// Below a table in which something is undecided.
inline constexpr const char* kUndecidedNote =
    "undecided: deterministic runs that differ by less than the model's error (docs/statistics.md)";

/// null where there is none, or where it is infinite.
nlohmann::ordered_json finite_or_null(const std::optional<double>& value);
/// The ends of an interval, likewise.
nlohmann::ordered_json low_or_null(const std::optional<statistics::Interval>& interval);
nlohmann::ordered_json high_or_null(const std::optional<statistics::Interval>& interval);

}  // namespace simsgd::questions

// Numbers of a measure as people read them: one unit for all that are compared, and intervals.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/frame/cell.hpp"
#include "analysis/frame/measure.hpp"
#include "analysis/statistics/intervals.hpp"
#include "results/text_table.hpp"

namespace simsgd::questions {

using namespace frame;

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

/// "ms" in brackets after a name; nothing where there is no unit.
std::string in_brackets(const CommonUnit& unit);

/// Below a table of times that are compared up to these taus.
std::string note_on_tau(const std::vector<double>& taus, const CommonUnit& unit);

/// Below a table in which something is undecided.
inline constexpr const char* kUndecidedNote =
    "undecided: deterministic runs that differ by less than the model is off by (docs/statistics.md)";

/// null where there is none, or where it is infinite.
nlohmann::ordered_json finite_or_null(const std::optional<double>& value);
/// The ends of an interval, likewise.
nlohmann::ordered_json low_or_null(const std::optional<statistics::Interval>& interval);
nlohmann::ordered_json high_or_null(const std::optional<statistics::Interval>& interval);

}  // namespace simsgd::questions

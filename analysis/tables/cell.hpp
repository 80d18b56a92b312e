// A cell of a table: the runs that differ in their seed alone, and what they say together.
#pragma once

#include <string>
#include <vector>

#include "analysis/statistics/comparison.hpp"
#include "analysis/statistics/intervals.hpp"
#include "analysis/tables/measure.hpp"

namespace simsgd::tables {

struct CellQuestion {
  enum class Statistic { mean, median } statistic = Statistic::mean;
  enum class Method { student, bootstrap } method = Method::student;  ///< of a mean
};

/// What the runs of a cell say of a measure.
struct CellSummary {
  std::size_t values = 0, censored = 0, none = 0, failed = 0, not_run = 0;
  /// No value where no run has one, or where fewer than half arrive: it is then above `seen_until`.
  std::optional<double> value;
  std::optional<statistics::Interval> interval;  ///< 95 %
  std::string statistic;                         ///< "mean", "median", "restricted mean"
  std::string method;  ///< "Student", "bootstrap", "order statistics", "Kaplan-Meier"; "" without an interval
  bool at_least = false;  ///< a restricted mean below that of all times
  double seen_until = 0;  ///< of censored runs the last time at which any was seen

  std::size_t count() const { return values + censored; }
  bool above_seen() const { return !value && censored > 0; }
};
CellSummary summarise(const std::vector<Sample>& samples, const CellQuestion& question);

/// Two cells, seed by seed.
struct CellComparison {
  std::size_t pairs = 0;
  std::optional<statistics::Difference> difference;  ///< none without a pair
  std::optional<statistics::Estimate> ratio, speed_up;
  /// Where runs are censored, of times until this one: the first at which any of them was last seen.
  std::optional<double> until;
};
CellComparison compare_cells(const std::vector<Sample>& baseline, const std::vector<Sample>& samples,
                             Better better);

}  // namespace simsgd::tables

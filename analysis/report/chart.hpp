// What a report is made of: charts with their data, already aggregated. A page, a table, a CSV file and an
// SVG are all made from this; none of them computes anything.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/questions/result_table.hpp"

namespace simsgd::report {

/// Empty where there is no value: a single seed has no interval.
using Cell = std::variant<std::monostate, double, std::string>;

struct Column {
  std::string field;  ///< in the specification: "low"; that of an axis may stand in an expression: "axis_0"
  std::string name;   ///< in CSV: "speedup_low", "cluster/workers"
  std::string title;  ///< for people
  std::string unit;   ///< SI; empty for text, "1" for ratios and counts
};

struct Chart {
  std::string name;         ///< "speedup": of files, and of --chart
  std::string title;        ///< "Speed-up"
  std::string caption;      ///< what is drawn, and how it was aggregated
  std::string description;  ///< for who does not see it
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< a cell for each column
  std::vector<std::string> filters;     ///< fields of which one value is shown at a time
  /// Vega-Lite. Its rows are the data set "rows", of which the page gives it those that are shown; colours
  /// are var(--NAME), see palette.
  nlohmann::ordered_json spec;
};

/// A chart that this study cannot fill.
struct LeftOut {
  std::string name, title, why;
};

/// An axis that readers choose a value of.
struct ReportAxis {
  std::string field, name;
  std::vector<std::string> labels;
};

struct StudyReport {
  std::string name, file;
  std::size_t points = 0, done = 0, failed = 0, seeds = 1;
  std::vector<std::string> errors;  ///< of points that failed, the first few
  std::vector<Chart> charts;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
  std::vector<ReportAxis> axes;
  std::string series;  ///< field of the axis that colours tell; empty where there is none
  /// What is best in each circumstance (winners_table); none where nothing that is chosen varies.
  std::optional<questions::ResultTable> headline = {};
};

struct Report {
  std::string store;  ///< file, as it was named
  std::vector<StudyReport> studies = {};
  std::string command = {};  ///< what makes its charts again; empty: `simsgd report` of the store
};

}  // namespace simsgd::report

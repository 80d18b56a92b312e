// A report of a store: of each study what is best, what its runs say, and its charts. Pages, text and figures
// (analysis/faces) are made of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/faces/table.hpp"
#include "analysis/questions/chart.hpp"

namespace simsgd::questions {

/// A chart that this study cannot fill.
struct LeftOutChart {
  std::string name, title, why;
};

struct StudyReport {
  std::string name, file;
  std::size_t points = 0, done = 0, failed = 0, seeds = 1;
  std::vector<std::string> errors;  ///< of points that failed, the first few
  std::vector<Chart> charts;
  std::vector<LeftOutChart> left_out;
  std::vector<std::string> notes;
  std::vector<ChartAxis> axes;
  std::string series;  ///< field of the axis that colours tell; empty where there is none
  /// What is best in each circumstance (winners_table); none where nothing that is chosen varies.
  std::optional<Table> headline = {};
  std::string id = {};  ///< in the store
};

struct Report {
  std::string store;  ///< file, as it was named
  std::vector<StudyReport> studies = {};
  std::string command = {};  ///< what makes its charts again; empty: `simsgd report` of the store
  std::vector<std::string> selection = {};  ///< options of that command that chose study and points
};

/// Names that --chart takes.
std::vector<std::string> chart_names();

/// `charts`: names of those that are wanted; all, if empty. Throws ConfigError where there is no such chart.
Report make_report(const std::vector<frame::Frame>& frames, const std::string& store,
                   const std::vector<std::string>& charts = {});
/// The same of all points of these studies.
Report make_report(const std::vector<ResultStudy>& studies, const frame::RunDetails& details,
                   const std::string& store, const std::vector<std::string>& charts = {});

/// The command that makes a chart again.
std::string command_of(const Report& report, const Chart& chart);

/// Rows that the page and figures show first: of each filter its first value.
std::vector<std::vector<Cell>> rows_shown_first(const Chart& chart);

}  // namespace simsgd::questions

// A report of a store: the charts of each of its studies. One page (page.hpp), text (text.hpp) and figures
// (figures.hpp) are made of it.
#pragma once

#include <string>
#include <vector>

#include "analysis/frame/frame.hpp"
#include "analysis/report/chart.hpp"

namespace simsgd::report {

/// Names that --chart takes.
std::vector<std::string> chart_names();

/// `charts`: names of those that are wanted; all, if empty. Throws ConfigError where there is no such chart.
Report make_report(const std::vector<ResultStudy>& studies, const frame::RunDetails& details,
                   const std::string& store, const std::vector<std::string>& charts = {});

/// The command that makes a chart again.
std::string command_of(const Report& report, const Chart& chart);

/// Rows that the page and figures show first: of each filter its first value.
std::vector<std::vector<Cell>> rows_shown_first(const Chart& chart);

}  // namespace simsgd::report

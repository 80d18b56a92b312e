// A report as text: the tables of its charts. Needs neither Node nor a browser.
#pragma once

#include <string>

#include "analysis/report/chart.hpp"

namespace simsgd::report {

/// CSV (RFC 4180) of a chart: names of columns, with their units, then all rows.
std::string chart_csv(const Chart& chart);

/// All charts of all studies in one tidy table: study, chart, and each column that any of them has.
std::string report_csv(const Report& report);

/// GitHub's Markdown: of each chart its caption, its first rows and the command that remakes it.
std::string report_markdown(const Report& report);

}  // namespace simsgd::report

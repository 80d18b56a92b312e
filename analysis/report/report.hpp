// A report of a store: the charts of each of its studies. One page (page.hpp), text (text.hpp) and figures
// (figures.hpp) are made of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/store/results.hpp"

namespace simsgd::report {

/// What is asked of single runs, by their keys: as StoredResults has it.
struct RunDetails {
  std::function<nlohmann::ordered_json(const std::string& key)> scenario;
  std::function<std::vector<CurvePoint>(const std::string& key, const std::string& name)> curve;
  std::function<std::vector<ResultLink>(const std::string& key)> busiest_links;
};
/// Of a store, which must outlive it.
RunDetails details_of(const StoredResults& results);

/// Names that --chart takes.
std::vector<std::string> chart_names();

/// `charts`: names of those that are wanted; all, if empty. Throws ConfigError where there is no such chart.
Report make_report(const std::vector<ResultStudy>& studies, const RunDetails& details,
                   const std::string& store, const std::vector<std::string>& charts = {});

/// The command that makes a chart again.
std::string command_of(const Report& report, const Chart& chart);

/// Rows that the page and figures show first: of each filter its first value.
std::vector<std::vector<Cell>> rows_shown_first(const Chart& chart);

}  // namespace simsgd::report

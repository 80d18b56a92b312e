// Studies made by hand, and pages taken apart.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/faces/vega.hpp"
#include "analysis/questions/study_report.hpp"

namespace simsgd::test {

/// A point that ended well: {{"/algorithm", "wagma"}, {"/cluster/workers", 8}}, its seed and its metrics.
ResultPoint made_point(const std::vector<std::pair<std::string, nlohmann::ordered_json>>& coordinates,
                       std::int64_t seed, const std::map<std::string, double>& metrics);

/// Details of runs that have none.
frame::RunDetails no_details();

/// The chart of this name; fails where it is left out.
faces::Chart chart_of(const ResultStudy& study, const std::string& name,
                      const frame::RunDetails& details = no_details());
std::string left_out_of(const ResultStudy& study, const std::string& name);

/// A column's cells; NaN where there is no number.
std::vector<double> numbers(const faces::Chart& chart, const std::string& field);
std::vector<std::string> texts(const faces::Chart& chart, const std::string& field);

/// What a page has in <script id=...>, base 64 and gzip undone.
std::string script_of(const std::string& page, const std::string& id);

}  // namespace simsgd::test

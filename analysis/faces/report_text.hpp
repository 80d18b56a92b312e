// A report as text: the tables of its charts. Needs neither Node nor a browser.
#pragma once

#include <string>
#include <vector>

#include "analysis/faces/figures.hpp"
#include "analysis/questions/study_report.hpp"
#include "results/text_table.hpp"

namespace simsgd::faces {

using namespace questions;

/// How numbers of each column are shown, in Markdown and on the page: as tables choose units
/// (questions::unit_for), for columns of one unit by the first of them, for the ends of an interval by its
/// value; counts have no decimals.
std::vector<CommonUnit> units_of(const Chart& chart);

/// All rows, as CSV has them; for people the first so many.
Table table_of(const Chart& chart, std::size_t most_shown = 0);

/// All charts of all studies in one tidy table: study, chart, and each column that any of them has.
std::string report_csv(const Report& report);

/// GitHub's Markdown: of each chart its caption, its first rows and the command that remakes it.
std::string report_markdown(const Report& report);

// What a notebook shows of a report.

/// All of a report's charts, one below another, as Jupyter's MIME bundle (JSON): Vega-Lite, and for who does
/// not draw that a picture: PNG, without rsvg-convert SVG, without Node the charts' tables.
std::string notebook_bundle(const Report& report, const FigureSettings& settings);

}  // namespace simsgd::faces

// Figures for papers: of each chart STUDY-CHART.svg as the page shows it first, its specification (.vl.json)
// and all its numbers (.csv); on demand also a PDF.
#pragma once

#include <filesystem>

#include "analysis/report/chart.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/report/web_files.hpp"

namespace simsgd::report {

/// "STUDY-CHART" of letters, digits, - and _; the n-th of several studies of one name has its number.
std::string figure_name(const Report& report, std::size_t study, const Chart& chart);

/// rsvg-convert of librsvg, which makes PDF of SVG. Throws ConfigError where PATH has none.
std::filesystem::path find_pdf_writer();

/// Makes the folder. `pdf_writer`: empty for none. Each file appears whole or not at all. Throws RunError.
void write_figures(const Report& report, const Vl2svg& vl2svg, const std::filesystem::path& pdf_writer,
                   const FigureSettings& settings, const std::filesystem::path& directory);

}  // namespace simsgd::report

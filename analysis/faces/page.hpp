// A report as one HTML file that asks no network for anything: what draws it (vega, vega-lite, vega-embed)
// and its data are inside, compressed.
#pragma once

#include <string>

#include "analysis/questions/study_report.hpp"

namespace simsgd::faces {

using namespace questions;

/// The data of a page. Columns hold a list of distinct texts and, for each row, which; numbers have six
/// digits.
nlohmann::ordered_json page_data(const Report& report);

struct PageSettings {
  std::string libraries;    ///< JavaScript of vega, vega-lite and vega-embed, in this order; empty: tables
  bool live = false;        ///< served by `explore`: may ask its own server, and nobody else
  std::string style = {};   ///< further CSS
  std::string script = {};  ///< and JavaScript, which runs last
};

/// The file. Names and labels may hold anything: no text of them is in the file as it stands but the title,
/// which is escaped.
std::string html_page(const Report& report, const PageSettings& settings);

// How charts look, on the page and in figures alike.

/// Colours of both themes: {"s1", "#0072b2", "#56b4e9"}: light, dark.
struct PaletteColour {
  const char* name;
  const char* light;
  const char* dark;
};
const std::vector<PaletteColour>& palette();

/// Fonts, axes and grid, as Vega-Lite's "config".
nlohmann::ordered_json chart_config();

/// gzip, RFC 1952; and base 64, RFC 4648.
std::string gzip(const std::string& data);
std::string base64(const std::string& data);

// Style and script of the page, and of its part that starts simulations, compiled in from web/.
std::string page_css();
std::string page_js();
std::string live_css();
std::string live_js();

}  // namespace simsgd::faces

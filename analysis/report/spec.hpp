// Pieces of Vega-Lite that the charts share: colours, scales, bands, what a legend click does.
// vega-lite 6, https://vega.github.io/vega-lite/docs/
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/grid.hpp"

namespace simsgd::report {

using Spec = nlohmann::ordered_json;

/// How a time is shown: a unit that gives its largest value between 1 and some hundreds, and its size in s.
struct ShownTime {
  std::string unit;
  double size_s = 1;
};
ShownTime shown_time(double largest_s);

/// A chart's frame: its size and the data set "rows".
Spec framed(const std::string& description, double height);

/// Of a chart with a row for each value of the series, px.
double rows_height(const Grid& grid, double row);

/// {"field": field, "type": type, "title": title}
Spec channel(const std::string& field, const std::string& type, const std::string& title);

/// Colour and shape of the series, told apart also by who sees no colour; null where the grid has none.
Spec series_colour(const Grid& grid);
Spec series_shape(const Grid& grid);
/// Of a closed list of other things, in its order.
Spec colour_of(const std::string& field, const std::string& title, const std::vector<std::string>& domain);

/// Faint where a legend click or the page's "Highlight" has chosen others.
Spec highlighted(const Grid& grid, double opacity);
/// The parameters that `highlighted` reads: one of the chart, and one of the layer whose legend is clicked.
Spec highlight_parameter();
Spec picked_in_legend(const std::string& field);
Spec legend_parameter(const Grid& grid);  ///< in the first layer that has the legend's colours

/// All columns, numbers with four digits.
Spec tooltip(const std::vector<Column>& columns);

/// Colours of both themes: {"s1", "#0072b2", "#56b4e9"}: light, dark.
struct PaletteColour {
  const char* name;
  const char* light;
  const char* dark;
};
const std::vector<PaletteColour>& palette();

/// Fonts, axes and grid, for the page and for figures alike.
Spec chart_config();

/// How a figure is drawn.
struct FigureSettings {
  double width = 560;            ///< px, of charts that have no width of their own
  std::optional<double> height;  ///< px, likewise; none: the chart's
  std::string font;              ///< family; empty: the page's
  bool dark = false;             ///< for dark pages
};
/// The specification by itself: with rows and the theme's colours. For figures.
Spec standalone(const Chart& chart, const std::vector<std::vector<Cell>>& rows,
                const FigureSettings& settings);

}  // namespace simsgd::report

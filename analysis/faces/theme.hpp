// How charts look, on the page and in figures alike.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace simsgd::faces {

/// Colours of both themes: {"s1", "#0072b2", "#56b4e9"}: light, dark.
struct PaletteColour {
  const char* name;
  const char* light;
  const char* dark;
};
const std::vector<PaletteColour>& palette();

/// Fonts, axes and grid, as Vega-Lite's "config".
nlohmann::ordered_json chart_config();

}  // namespace simsgd::faces

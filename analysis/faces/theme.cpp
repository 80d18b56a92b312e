#include "analysis/faces/theme.hpp"

namespace simsgd::faces {

using Spec = nlohmann::ordered_json;

// Okabe and Ito, Color Universal Design, 2008, darker where white paper asks for it and lighter on black.
const std::vector<PaletteColour>& palette() {
  static const std::vector<PaletteColour> colours = {
      {"s1", "#0067a5", "#5ab4f0"},    {"s2", "#d55e00", "#f5803e"},   {"s3", "#008f6b", "#2cc49a"},
      {"s4", "#b8508c", "#e28fbe"},    {"s5", "#b07d00", "#e8b83a"},   {"s6", "#4a90c4", "#a6d4f2"},
      {"s7", "#6b4fa0", "#b39ddb"},    {"s8", "#6f6f6f", "#a8a8a8"},   {"ink", "#1c2430", "#e8ebef"},
      {"muted", "#5b6675", "#9aa5b3"}, {"rule", "#e3e7ec", "#2c343f"}, {"paper", "#ffffff", "#12161c"},
      {"bad", "#c0392b", "#ff7b6b"},
  };
  return colours;
}

Spec chart_config() {
  const char* const font =
      "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  return {{"background", nullptr},
          {"font", font},
          {"view", {{"stroke", nullptr}}},
          {"axis",
           {{"labelColor", "var(--muted)"},
            {"titleColor", "var(--muted)"},
            {"titleFontWeight", 500},
            {"titleFontSize", 12},
            {"labelFontSize", 12},
            {"titlePadding", 10},
            {"labelPadding", 6},
            {"gridColor", "var(--rule)"},
            {"domainColor", "var(--rule)"},
            {"tickColor", "var(--rule)"},
            {"ticks", false},
            {"domain", false},
            {"labelLimit", 260}}},
          {"axisX", {{"grid", false}, {"domain", true}, {"ticks", true}}},
          {"axisQuantitative", {{"labelOverlap", true}, {"labelSeparation", 8}, {"tickCount", 7}}},
          {"legend",
           {{"labelColor", "var(--ink)"},
            {"titleColor", "var(--muted)"},
            {"titleFontWeight", 500},
            {"titleFontSize", 12},
            {"labelFontSize", 12},
            {"labelLimit", 260},
            {"symbolSize", 90},
            {"symbolOpacity", 1},
            {"orient", "top"},
            {"direction", "horizontal"},
            {"titleAnchor", "start"}}},
          {"text", {{"color", "var(--ink)"}, {"fontSize", 12}}},
          {"rule", {{"color", "var(--muted)"}}},
          {"line", {{"strokeWidth", 2}}}};
}

}  // namespace simsgd::faces

#include "analysis/report/spec.hpp"

#include <algorithm>
#include <cmath>

namespace simsgd::report {

namespace {

constexpr std::size_t kColours = 8;
const char* const kShapes[] = {"circle", "square", "triangle-up"};

Spec colours(std::size_t count) {
  Spec range = Spec::array();
  for (std::size_t i = 0; i < count; ++i) range.push_back("var(--s" + std::to_string(i % kColours + 1) + ")");
  return range;
}

// As many as a chart of half the page's width has room for.
std::size_t legend_columns(const std::vector<std::string>& labels) {
  std::size_t longest = 1;
  for (const std::string& label : labels)
    longest = std::max(longest, std::min<std::size_t>(label.size(), 38));
  return std::clamp<std::size_t>(64 / (longest + 4), 1, 6);
}

Spec json_of(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell))
    return std::isfinite(*number) ? Spec(*number) : Spec();
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

}  // namespace

double rows_height(const Grid& grid, double row) {
  return 20 + row * (grid.series ? static_cast<double>(grid.axes[*grid.series].values.size()) : 1);
}

ShownTime shown_time(double largest_s) {
  if (largest_s >= 3 * 3600.0) return {"h", 3600};
  if (largest_s >= 600) return {"min", 60};
  if (largest_s >= 1) return {"s", 1};
  if (largest_s >= 1e-3) return {"ms", 1e-3};
  return {"µs", 1e-6};
}

Spec framed(const std::string& description, double height) {
  return {{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
          {"description", description},
          {"width", "container"},
          {"height", height},
          {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
          {"data", {{"name", "rows"}}}};
}

Spec channel(const std::string& field, const std::string& type, const std::string& title) {
  return {{"field", field}, {"type", type}, {"title", title}};
}

Spec colour_of(const std::string& field, const std::string& title, const std::vector<std::string>& domain) {
  Spec made = channel(field, "nominal", title);
  made["scale"] = {{"domain", domain}, {"range", colours(domain.size())}};
  made["legend"] = {{"columns", legend_columns(domain)}};
  return made;
}

Spec series_colour(const Grid& grid) {
  if (!grid.series) return {{"value", "var(--s1)"}};
  const frame::Axis& axis = grid.axes[*grid.series];
  return colour_of(field_of(*grid.series), axis.name, axis.labels());
}

Spec series_shape(const Grid& grid) {
  if (!grid.series) return {{"value", "circle"}};
  const frame::Axis& axis = grid.axes[*grid.series];
  Spec made = channel(field_of(*grid.series), "nominal", axis.name), range = Spec::array();
  for (std::size_t i = 0; i < axis.values.size(); ++i)
    range.push_back(kShapes[i / kColours % std::size(kShapes)]);
  made["scale"] = {{"domain", axis.labels()}, {"range", range}};
  return made;
}

Spec highlighted(const Grid& grid, double opacity) {
  if (!grid.series) return {{"value", opacity}};
  const Spec chosen = {
      {"and", {{{"param", "picked"}}, "!highlight || datum." + field_of(*grid.series) + " === highlight"}}};
  return {{"condition", {{"test", chosen}, {"value", opacity}}}, {"value", opacity * 0.12}};
}

Spec highlight_parameter() { return Spec::array({{{"name", "highlight"}, {"value", ""}}}); }

Spec picked_in_legend(const std::string& field) {
  // A click shows what was clicked, one more brings the others back.
  return Spec::array({{{"name", "picked"},
                       {"select", {{"type", "point"}, {"fields", {field}}, {"toggle", "true"}}},
                       {"bind", "legend"}}});
}

Spec legend_parameter(const Grid& grid) {
  return grid.series ? picked_in_legend(field_of(*grid.series)) : Spec::array();
}

Spec tooltip(const std::vector<Column>& columns) {
  Spec shown = Spec::array();
  for (const Column& column : columns) {
    const bool text = column.unit.empty();
    Spec each = channel(column.field, text ? "nominal" : "quantitative",
                        text || column.unit == "1" ? column.title : column.title + " (" + column.unit + ")");
    if (!text) each["format"] = ".4~g";
    shown.push_back(each);
  }
  return shown;
}

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

Spec standalone(const Chart& chart, const std::vector<std::vector<Cell>>& rows,
                const FigureSettings& settings) {
  Spec spec = chart.spec;
  spec["config"] = chart_config();
  std::string text = spec.dump();
  for (const PaletteColour& colour : palette()) {
    const std::string name = std::string("var(--") + colour.name + ")";
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), settings.dark ? colour.dark : colour.light);
  }
  spec = Spec::parse(text);
  if (spec.value("width", Spec()) == "container") spec["width"] = settings.width;
  if (settings.height && spec.value("height", Spec()).is_number()) spec["height"] = *settings.height;
  if (!settings.font.empty()) spec["config"]["font"] = settings.font;
  for (const PaletteColour& colour : palette())
    if (std::string(colour.name) == "paper")
      spec["config"]["background"] = settings.dark ? colour.dark : colour.light;
  Spec values = Spec::array();
  for (const std::vector<Cell>& row : rows) {
    Spec value = Spec::object();
    for (std::size_t c = 0; c < chart.columns.size(); ++c) value[chart.columns[c].field] = json_of(row[c]);
    values.push_back(std::move(value));
  }
  spec["data"] = {{"values", std::move(values)}};
  return spec;
}

}  // namespace simsgd::report

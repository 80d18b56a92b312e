// Measured against simulated, where scenarios carry `expected` values; and the busiest links by name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/statistics/intervals.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::report {

namespace {

// Scenarios and links are read one by one: of so many cells at most.
constexpr std::size_t kMostScenarios = 2000, kMostLinkCells = 400;

std::string unit_of(const std::string& name) {
  for (const Metric& metric : metrics())
    if (metric.name == name) return metric.unit;
  return "1";
}

Spec measured_spec(const Chart& chart) {
  Spec x = channel("measured", "quantitative", "measured"),
       y = channel("simulated", "quantitative", "simulated");
  double least = INFINITY, most = 0;
  for (const std::vector<Cell>& row : chart.rows)
    for (std::size_t c = chart.columns.size() - 5; c < chart.columns.size() - 3; ++c)
      if (const double* value = std::get_if<double>(&row[c]); value && *value > 0) {
        least = std::min(least, *value);
        most = std::max(most, *value);
      }
  x["scale"] = y["scale"] = {{"type", "log"}, {"nice", false}, {"domain", {least * 0.8, most * 1.25}}};
  x["axis"] = y["axis"] = {{"format", ".3~g"}, {"tickCount", 4}};
  Spec spec = framed(chart.description, 340);
  spec["params"] = highlight_parameter();
  spec["layer"] = {
      {{"data", {{"values", {{{"x", least}, {"y", least}}, {{"x", most}, {"y", most}}}}}},
       {"mark", {{"type", "line"}, {"strokeDash", {5, 4}}, {"strokeWidth", 1.5}, {"color", "var(--muted)"}}},
       {"encoding",
        {{"x", {{"field", "x"}, {"type", "quantitative"}}},
         {"y", {{"field", "y"}, {"type", "quantitative"}}}}}},
      {{"params", picked_in_legend("holds")},
       {"transform", {{{"filter", "datum.measured > 0 && datum.simulated > 0"}}}},
       {"mark", {{"type", "point"}, {"filled", true}, {"size", 80}}},
       {"encoding",
        {{"x", x},
         {"y", y},
         {"color",
          {{"field", "holds"},
           {"type", "nominal"},
           {"title", "tolerance"},
           {"scale", {{"domain", {"within", "outside"}}, {"range", {"var(--s1)", "var(--s2)"}}}}}},
         {"shape",
          {{"field", "holds"},
           {"type", "nominal"},
           {"title", "tolerance"},
           {"scale", {{"domain", {"within", "outside"}}, {"range", {"circle", "cross"}}}}}},
         {"opacity", {{"condition", {{"param", "picked"}, {"value", 0.9}}}, {"value", 0.12}}},
         {"tooltip", tooltip(chart.columns)}}}}};
  return spec;
}

void add_expected(const ChartSource& source, const GridCell& cell, Chart& chart) {
  const Spec scenario = source.frame.details().scenario(cell.runs.front()->key);
  if (!scenario.is_object() || !scenario.contains("expected") || !scenario["expected"].is_array()) return;
  for (const Spec& each : scenario["expected"]) {
    const std::string metric = each.at("metric");
    const std::vector<double> values = values_of(cell, metric);
    const double measured = each.at("value"), tolerance = each.value("tolerance", 0.0);
    std::vector<Cell> row = axis_cells(source.grid, cell);
    row.insert(row.end(),
               {metric, unit_of(metric), measured, Cell(), Cell(), tolerance, std::string("outside")});
    const std::size_t at = source.grid.axes.size();
    if (!values.empty()) {
      const double simulated = statistics::mean(values);
      row[at + 3] = simulated;
      if (measured != 0) row[at + 4] = (simulated - measured) / std::fabs(measured);
      if (std::fabs(simulated - measured) <= tolerance * std::fabs(measured))
        row[at + 6] = std::string("within");
    }
    chart.rows.push_back(std::move(row));
  }
}

Spec links_spec(const Chart& chart) {
  Spec x = channel("utilisation", "quantitative", "share of the time in use");
  x["axis"] = {{"format", ".2~%"}};
  x["scale"] = {{"domainMin", 0}};
  Spec y = channel("link", "nominal", "");
  y["sort"] = {{"field", "utilisation"}, {"op", "max"}, {"order", "descending"}};
  y["axis"] = {{"title", nullptr}};
  constexpr double kRow = 26, kMostRows = 10;
  Spec spec = framed(chart.description, kRow * kMostRows);
  spec["params"] = highlight_parameter();
  spec["mark"] = {{"type", "bar"}, {"height", {{"band", 0.7}}}, {"color", "var(--s1)"}};
  spec["encoding"] = {{"x", x}, {"y", y}, {"tooltip", tooltip(chart.columns)}};
  return spec;
}

}  // namespace

MadeChart measured_chart(const ChartSource& source) {
  Chart chart{"measured", "Measured against simulated", "", "", axis_columns(source.grid), {}, {}, {}};
  chart.columns.push_back({"metric", "metric", "metric", ""});
  chart.columns.push_back({"unit", "unit", "unit", ""});
  chart.columns.push_back({"measured", "measured", "measured", "1"});
  chart.columns.push_back({"simulated", "simulated", "simulated", "1"});
  chart.columns.push_back({"error", "relative_error", "error", "1"});
  chart.columns.push_back({"tolerance", "tolerance", "tolerance", "1"});
  chart.columns.push_back({"holds", "holds", "tolerance kept", ""});
  std::size_t read = 0;
  for (const GridCell& cell : source.grid.cells)
    if (!cell.runs.empty() && ++read <= kMostScenarios) add_expected(source, cell, chart);
  if (chart.rows.empty()) return "These scenarios carry no expected values.";
  chart.caption = "Each dot is an expected value of a scenario, SI units, mean over seeds. Dashed: equal.";
  if (read > kMostScenarios) chart.caption += fmt::format(" Of the first {} cells.", kMostScenarios);
  chart.description = "Simulated values against measured ones; dots on the dashed line agree";
  chart.spec = measured_spec(chart);
  return chart;
}

MadeChart links_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  Chart chart{"links", "Busiest links", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"link", "link", "link", ""});
  chart.columns.push_back({"utilisation", "utilisation", "share of the time in use", "1"});
  chart.columns.push_back({"bytes", "bytes", "traffic", "B"});
  std::size_t read = 0;
  for (const GridCell& cell : grid.cells) {
    if (cell.runs.empty() || ++read > kMostLinkCells) continue;
    for (const ResultLink& link : source.frame.details().busiest_links(cell.runs.front()->key)) {
      std::vector<Cell> row = axis_cells(grid, cell);
      row.insert(row.end(), {link.name, link.utilisation, link.bytes});
      chart.rows.push_back(std::move(row));
    }
  }
  if (chart.rows.empty()) return "No run tells its links: collectives in closed form use none.";
  chart.filters = filters_without(grid, {});
  chart.caption = "The ten busiest links of the first seed's run.";
  if (read > kMostLinkCells) chart.caption += fmt::format(" Of the first {} cells.", kMostLinkCells);
  chart.description = "The busiest links by name, and the share of the time in which they are in use";
  chart.spec = links_spec(chart);
  return chart;
}

}  // namespace simsgd::report

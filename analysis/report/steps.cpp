// What a step consists of, stacked, and how long steps take under each kind of straggler.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/statistics/intervals.hpp"
#include "sim/activities.hpp"

namespace simsgd::report {

namespace {

Spec series_rows(const Grid& grid) {
  if (!grid.series) return {{"value", 20}};
  Spec y = channel(field_of(*grid.series), "nominal", grid.axes[*grid.series].name);
  y["sort"] = grid.axes[*grid.series].labels();
  y["axis"] = {{"title", nullptr}};
  return y;
}

std::string scaled_by(const std::string& field, const ShownTime& shown) {
  return fmt::format("datum.{} / {}", field, shown.size_s);
}

Spec breakdown_spec(const ChartSource& source, const Chart& chart, const std::vector<std::string>& parts,
                    double longest_s) {
  const ShownTime shown = shown_time(longest_s);
  Spec x = channel("shown", "quantitative", "time of a step (" + shown.unit + ")");
  x["stack"] = "zero";
  Spec spec = framed(chart.description, rows_height(source.grid, 30));
  spec["params"] = highlight_parameter();
  spec["transform"] = {{{"calculate", scaled_by("time_s", shown)}, {"as", "shown"}}};
  Spec opacity = {{"condition", {{"param", "picked"}, {"value", 1}}}, {"value", 0.12}};
  if (source.grid.series) opacity = highlighted(source.grid, 1);
  // A layer, since vega-lite 6.4.3 does not let legends of single charts toggle.
  spec["layer"] = {{{"params", picked_in_legend("activity")},
                    {"mark", {{"type", "bar"}, {"height", {{"band", 0.72}}}}},
                    {"encoding",
                     {{"x", x},
                      {"y", series_rows(source.grid)},
                      {"color", colour_of("activity", "of which", parts)},
                      {"order", {{"field", "part"}, {"type", "quantitative"}}},
                      {"opacity", opacity},
                      {"tooltip", tooltip(chart.columns)}}}}};
  return spec;
}

Spec step_times_spec(const ChartSource& source, const Chart& chart, std::size_t stragglers,
                     double longest_s) {
  const Grid& grid = source.grid;
  const ShownTime shown = shown_time(longest_s);
  const auto x_of = [&](const std::string& field) {
    return channel("shown_" + field, "quantitative", "time of a step (" + shown.unit + ")");
  };
  Spec y = channel(field_of(stragglers), "nominal", grid.axes[stragglers].name);
  y["sort"] = grid.axes[stragglers].labels();
  y["axis"] = {{"title", nullptr}, {"grid", true}, {"tickBand", "extent"}};
  y["scale"] = {{"paddingInner", 0.15}};
  const bool grouped = grid.series && *grid.series != stragglers;
  const auto groups = static_cast<double>(grid.axes[stragglers].values.size());
  const double boxes = grouped ? static_cast<double>(grid.axes[*grid.series].values.size()) : 2;
  Spec spec = framed(chart.description, groups * (10 * boxes + 14)), offset;
  if (grouped) {
    offset = channel(field_of(*grid.series), "nominal", "");
    offset["sort"] = grid.axes[*grid.series].labels();
  }
  spec["params"] = highlight_parameter();
  spec["transform"] = Spec::array();
  for (const char* field : {"p5", "p25", "p50", "p75", "p95", "mean"})
    spec["transform"].push_back(
        {{"calculate", scaled_by(field, shown)}, {"as", std::string("shown_") + field}});
  const auto layer = [&](Spec mark, const std::string& from, const std::string& to, double strength) {
    Spec encoding = {{"x", x_of(from)},
                     {"y", y},
                     {"color", series_colour(grid)},
                     {"opacity", highlighted(grid, strength)}};
    if (!to.empty()) encoding["x2"] = {{"field", "shown_" + to}};
    if (grouped) encoding["yOffset"] = offset;
    encoding["tooltip"] = tooltip(chart.columns);
    return Spec{{"mark", std::move(mark)}, {"encoding", std::move(encoding)}};
  };
  Spec box = layer({{"type", "bar"}, {"height", {{"band", 0.8}}}, {"minBandSize", 2}}, "p25", "p75", 0.55);
  box["params"] = legend_parameter(grid);
  spec["layer"] = {layer({{"type", "rule"}, {"strokeWidth", 1.5}}, "p5", "p95", 0.9), box,
                   layer({{"type", "tick"}, {"thickness", 3}, {"band", 0.8}}, "p50", "", 1),
                   layer({{"type", "point"}, {"filled", true}, {"size", 22}}, "mean", "", 1)};
  return spec;
}

}  // namespace

MadeChart breakdown_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  Chart chart{"breakdown", "Where the time of a step goes", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"activity", "activity", "part", ""});
  chart.columns.push_back({"part", "part", "place", "1"});
  chart.columns.push_back({"time_s", "time_per_step_s", "time of a step", "s"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  std::vector<std::string> parts;
  double longest = 0;
  for (const ActivityInfo& activity : activities()) {
    bool any = false;
    for (const GridCell& cell : grid.cells) {
      const std::vector<double> values = values_of(cell, activity_metric(activity.activity));
      if (values.empty() || statistics::mean(values) <= 0) continue;
      any = true;
      std::vector<Cell> row = axis_cells(grid, cell);
      row.insert(row.end(), {std::string(activity.label), static_cast<double>(parts.size()),
                             statistics::mean(values), static_cast<double>(values.size())});
      chart.rows.push_back(std::move(row));
    }
    if (any) parts.push_back(activity.label);
  }
  if (parts.empty()) return "No run has the parts of a step.";
  for (const GridCell& cell : grid.cells)
    for (const double value : values_of(cell, "iteration_time_mean_s")) longest = std::max(longest, value);
  chart.filters = filters_without(grid, {grid.series});
  chart.caption = "Mean over workers, steps and seeds; the parts sum to the time of a step.";
  chart.description =
      "The time of a step as stacked bars: computing, communication that is not hidden, waiting";
  chart.spec = breakdown_spec(source, chart, parts, longest);
  return chart;
}

MadeChart step_times_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!grid.stragglers) return "No axis of this study varies /stragglers.";
  Chart chart{"step_times", "Step times under each straggler", "", "", axis_columns(grid), {}, {}, {}};
  const std::pair<const char*, const char*> kQuantiles[] = {{"p5", "5 % below"},   {"p25", "first quartile"},
                                                            {"p50", "median"},     {"p75", "third quartile"},
                                                            {"p95", "95 % below"}, {"mean", "mean"}};
  for (const auto& [field, title] : kQuantiles)
    chart.columns.push_back({field, fmt::format("iteration_time_{}_s", field), title, "s"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  double longest = 0;
  for (const GridCell& cell : grid.cells) {
    std::vector<Cell> row = axis_cells(grid, cell);
    std::size_t seeds = 0;
    for (const auto& [field, title] : kQuantiles) {
      const std::vector<double> values = values_of(cell, fmt::format("iteration_time_{}_s", field));
      if (values.empty()) break;
      seeds = values.size();
      row.emplace_back(statistics::mean(values));
      longest = std::max(longest, statistics::mean(values));
    }
    row.emplace_back(static_cast<double>(seeds));
    if (row.size() == chart.columns.size()) chart.rows.push_back(std::move(row));
  }
  if (chart.rows.empty())
    return "No run has quartiles of its step times (runs of earlier versions do not; sweep run --force).";
  chart.filters = filters_without(grid, {grid.series, grid.stragglers});
  chart.caption =
      "Of all steps of all workers, mean over seeds. Boxes: from the first quartile to the third, with the median; lines: from the 5th percentile to the 95th; dots: the mean.";
  chart.description = "Step times as boxes from the first quartile to the third, for each kind of straggler";
  chart.spec = step_times_spec(source, chart, *grid.stragglers, longest);
  return chart;
}

}  // namespace simsgd::report

// Time to target: Kaplan and Meier's median over seeds with its 95 % interval. Runs that end before they
// arrive are censored, never dropped; where fewer than half arrive the median is above the last time seen.
#include "analysis/report/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/spec.hpp"

namespace simsgd::report {

namespace {

constexpr const char* kMetric = "time_to_target_s";

Spec target_spec(const ChartSource& source, const Chart& chart, double longest_s) {
  const Grid& grid = source.grid;
  const ShownTime shown = shown_time(longest_s);
  // An end that is not known is drawn where the mark is: a rule of no length, and a finite axis.
  const auto scaled = [&](const std::string& field) {
    return Spec{
        {"calculate", fmt::format("(isValid(datum.{0}) ? datum.{0} : isValid(datum.median) ? datum.median : "
                                  "datum.until) / {1}",
                                  field, shown.size_s)},
        {"as", "shown_" + field}};
  };
  const Spec x = channel("shown_median", "quantitative", "time to target (" + shown.unit + ")");
  Spec low = x, until = x;
  low["field"] = "shown_low";
  until["field"] = "shown_until";
  Spec y = {{"value", 20}}, colour = series_colour(grid);
  if (grid.series) {
    y = channel(field_of(*grid.series), "nominal", grid.axes[*grid.series].name);
    y["sort"] = grid.axes[*grid.series].labels;
    y["axis"] = {{"title", nullptr}, {"grid", true}};
    colour["legend"] = nullptr;
  }
  const Spec strength = highlighted(grid, 1), tips = tooltip(chart.columns);
  Spec spec = framed(chart.description, rows_height(grid, 34));
  spec["params"] = highlight_parameter();
  spec["transform"] = {scaled("median"),
                       scaled("low"),
                       scaled("high"),
                       scaled("until"),
                       {{"calculate", "datum.arrived + ' of ' + datum.seeds + ' arrived'"}, {"as", "share"}}};
  // Hidden rather than filtered out: an axis without any value has no extent.
  const auto shown_where = [](const char* test, double size) {
    return Spec{{"condition", {{"test", test}, {"value", size}}}, {"value", 0}};
  };
  Spec plain = {{"params", legend_parameter(grid)},
                {"mark", {{"type", "point"}, {"filled", true}}},
                {"encoding",
                 {{"x", x},
                  {"y", y},
                  {"size", shown_where("isValid(datum.median)", 90)},
                  {"color", colour},
                  {"opacity", strength},
                  {"tooltip", tips}}}};
  spec["layer"] = {
      {{"mark", {{"type", "rule"}, {"strokeWidth", 3}}},
       {"encoding",
        {{"x", low},
         {"x2", {{"field", "shown_high"}}},
         {"y", y},
         {"color", colour},
         {"opacity", highlighted(grid, 0.4)}}}},
      plain,
      {{"mark", {{"type", "point"}, {"shape", "triangle-right"}, {"filled", false}, {"strokeWidth", 2}}},
       {"encoding",
        {{"x", until},
         {"y", y},
         {"size", shown_where("!isValid(datum.median)", 130)},
         {"color", colour},
         {"opacity", strength},
         {"tooltip", tips}}}},
      {{"transform", {{{"filter", "datum.arrived < datum.seeds"}}}},
       {"mark",
        {{"type", "text"}, {"align", "left"}, {"dx", 10}, {"fontSize", 11}, {"color", "var(--muted)"}}},
       {"encoding", {{"x", {{"value", "width"}}}, {"y", y}, {"text", {{"field", "share"}}}}}}};
  return spec;
}

}  // namespace

bool has_target(const ChartSource& source) {
  if (has_metric(source.grid, kMetric)) return true;
  for (const GridCell& cell : source.grid.cells)
    if (!cell.runs.empty()) {
      const Spec scenario = source.results.scenario(cell.runs.front()->key);
      return scenario.is_object() && scenario.contains("target") && !scenario["target"].is_null();
    }
  return false;
}

statistics::Observation observation_of(const ResultPoint& run) {
  if (const auto found = run.metrics.find(kMetric); found != run.metrics.end()) return {found->second, true};
  const auto end = run.metrics.find("simulated_time_s");
  return {end == run.metrics.end() ? 0 : end->second, false};
}

std::vector<statistics::Observation> observations_of(const GridCell& cell) {
  std::vector<statistics::Observation> all;
  for (const ResultPoint* run : cell.runs) all.push_back(observation_of(*run));
  return all;
}

MadeChart target_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!has_target(source)) return "These scenarios have no target.";
  Chart chart{"target", "Time to target", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"median", "time_to_target_s", "median", "s"});
  chart.columns.push_back({"low", "time_to_target_low_s", "95 % from", "s"});
  chart.columns.push_back({"high", "time_to_target_high_s", "to", "s"});
  chart.columns.push_back({"until", "seen_until_s", "seen until", "s"});
  chart.columns.push_back({"arrived", "arrived", "arrived", "1"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  double longest = 0;
  for (const GridCell& cell : grid.cells) {
    const std::vector<statistics::Observation> observations = observations_of(cell);
    if (observations.empty()) continue;
    const statistics::SurvivalMedian median = statistics::survival_median(observations);
    double until = 0;
    for (const statistics::Observation& each : observations) until = std::max(until, each.time);
    longest = std::max(longest, until);
    std::vector<Cell> row = axis_cells(grid, cell);
    const auto known = [](double value) { return std::isfinite(value) ? Cell(value) : Cell(); };
    row.push_back(median.value ? Cell(*median.value) : Cell());
    row.push_back(median.interval ? known(median.interval->low) : Cell());
    row.push_back(median.interval ? known(median.interval->high) : Cell());
    row.insert(row.end(), {until, static_cast<double>(median.arrived), static_cast<double>(median.count)});
    chart.rows.push_back(std::move(row));
  }
  chart.filters = filters_without(grid, {grid.series});
  chart.caption =
      "Median over seeds (Kaplan and Meier), with its 95 % interval. Runs that ended before they arrived are "
      "censored at their end, not dropped. Open triangles: fewer than half arrived, the median is later than "
      "this.";
  chart.description =
      "Time to the target, a dot for each value; open triangles where most runs did not arrive";
  chart.spec = target_spec(source, chart, longest);
  return chart;
}

}  // namespace simsgd::report

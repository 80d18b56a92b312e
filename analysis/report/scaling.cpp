// Speed-up and efficiency against workers. Efficiency is the metric scaling_efficiency, throughput per worker
// over that of one device alone; speed-up is that times the workers. Bands: Student's 95 % over seeds.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/frame/exactness.hpp"
#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/statistics/intervals.hpp"

namespace simsgd::report {

namespace {

struct ScalingKind {
  std::string name, title, axis;
  bool speedup = false;
};

Spec line_of_ideal(const std::vector<double>& workers, const ScalingKind& kind) {
  const auto [least, most] = std::minmax_element(workers.begin(), workers.end());
  Spec values = Spec::array();
  for (const double count : {*least, *most})
    values.push_back({{"x", count}, {"y", kind.speedup ? count : 1.0}});
  return {
      {"data", {{"values", values}}},
      {"mark", {{"type", "line"}, {"strokeDash", {5, 4}}, {"strokeWidth", 1.5}, {"color", "var(--muted)"}}},
      {"encoding",
       {{"x", {{"field", "x"}, {"type", "quantitative"}}},
        {"y", {{"field", "y"}, {"type", "quantitative"}}}}}};
}

// A single seed's band has no width, so that the axis always has an extent; a logarithmic one has no room for
// what is not above 0.
Spec band_ends(const ScalingKind& kind) {
  const char* const low =
      kind.speedup ? "!isValid(datum.low) ? datum.value : datum.low > 0 ? datum.low : datum.value / 16"
                   : "isValid(datum.low) ? datum.low : datum.value";
  return {{{"calculate", low}, {"as", "drawn_low"}},
          {{"calculate", "isValid(datum.high) ? datum.high : datum.value"}, {"as", "drawn_high"}}};
}

Spec scaling_spec(const ChartSource& source, const Chart& chart, const ScalingKind& kind) {
  std::vector<double> workers;
  for (const frame::Value& value : source.grid.axes[*source.grid.workers].values)
    workers.push_back(*value.number);
  std::vector<double> ticks = workers;
  std::sort(ticks.begin(), ticks.end());
  Spec x = channel("workers", "quantitative", "workers");
  x["scale"] = {{"type", "log"}, {"base", 2}, {"nice", false}};
  x["axis"] = {{"values", ticks}, {"format", "d"}};
  Spec y = channel("value", "quantitative", kind.axis);
  if (kind.speedup) {
    y["scale"] = {{"type", "log"}, {"base", 2}};
    y["axis"] = {{"format", "~g"}, {"tickCount", 8}};
  } else {
    y["scale"] = {{"zero", true}};
    y["axis"] = {{"format", ".0%"}};
  }
  Spec low = y;
  low["field"] = "drawn_low";
  const Spec colour = series_colour(source.grid);
  Spec spec = framed(chart.description, 320);
  spec["params"] = highlight_parameter();
  spec["layer"] = {
      line_of_ideal(workers, kind),
      {{"params", legend_parameter(source.grid)},
       {"transform", band_ends(kind)},
       {"mark", {{"type", "area"}, {"aria", false}}},
       {"encoding",
        {{"x", x},
         {"y", low},
         {"y2", {{"field", "drawn_high"}}},
         {"color", colour},
         {"opacity", highlighted(source.grid, 0.2)}}}},
      {{"mark", {{"type", "line"}, {"aria", false}}},
       {"encoding", {{"x", x}, {"y", y}, {"color", colour}, {"opacity", highlighted(source.grid, 1)}}}},
      {{"mark", {{"type", "point"}, {"filled", true}, {"size", 55}}},
       {"encoding",
        {{"x", x},
         {"y", y},
         {"color", colour},
         {"shape", series_shape(source.grid)},
         {"opacity", highlighted(source.grid, 1)},
         {"tooltip", tooltip(chart.columns)}}}}};
  return spec;
}

MadeChart scaling_chart(const ChartSource& source, const ScalingKind& kind) {
  const Grid& grid = source.grid;
  if (!grid.workers) return "No axis of this study varies /cluster/workers.";
  if (!has_metric(grid, "scaling_efficiency"))
    return "No run has scaling_efficiency: its workload has no one-device time.";
  Chart chart{kind.name, kind.title, "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"workers", "workers", "workers", "1"});
  chart.columns.push_back({"value", kind.name, kind.title, "1"});
  chart.columns.push_back({"low", kind.name + "_low", "95 % from", "1"});
  chart.columns.push_back({"high", kind.name + "_high", "to", "1"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  for (const GridCell& cell : grid.cells) {
    std::vector<double> values = values_of(cell, "scaling_efficiency");
    if (values.empty()) continue;
    const double workers = *grid.axes[*grid.workers].values[cell.at[*grid.workers]].number;
    if (kind.speedup)
      for (double& value : values) value *= workers;
    statistics::Estimate mean = statistics::student_mean(values);
    if (frame::is_deterministic(source.frame.details().scenario, cell.runs)) mean.interval.reset();
    std::vector<Cell> row = axis_cells(grid, cell);
    row.insert(row.end(),
               {workers, mean.value, std::monostate{}, std::monostate{}, static_cast<double>(values.size())});
    if (mean.interval) {
      row[row.size() - 3] = mean.interval->low;
      row[row.size() - 2] = mean.interval->high;
    }
    chart.rows.push_back(std::move(row));
  }
  chart.filters = filters_without(grid, {grid.workers, grid.series});
  chart.caption = fmt::format(
      "{} Dashed: ideal.{}",
      kind.speedup ? "Throughput over that of one device; both axes double from line to line."
                   : "Throughput per worker over that of one device.",
      grid.seeds > 1 ? " Bands: 95 % interval of the mean over seeds (Student); none of deterministic runs."
                     : " One seed: no bands.");
  chart.description = fmt::format("{} against the number of workers, one line for each {}", kind.title,
                                  grid.series ? grid.axes[*grid.series].name : "study");
  chart.spec = scaling_spec(source, chart, kind);
  return chart;
}

}  // namespace

MadeChart speedup_chart(const ChartSource& source) {
  return scaling_chart(source, {"speedup", "Speed-up", "speed-up over one device", true});
}

MadeChart efficiency_chart(const ChartSource& source) {
  return scaling_chart(source, {"efficiency", "Efficiency", "scaling efficiency", false});
}

}  // namespace simsgd::report

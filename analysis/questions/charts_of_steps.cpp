// What a step consists of, stacked, and how long steps take under each kind of straggler.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/questions/chart.hpp"
#include "sim/activities.hpp"

namespace simsgd::questions {

MadeChart breakdown_chart(const ChartSource& source) {
  Chart chart = source.chart({{"activity", "activity", "part", ""},
                              {"part", "part", "place", "1"},
                              {"time_s", "time_per_step_s", "time of a step", "s"},
                              {"seeds", "seeds", "seeds", "1"}});
  chart.marks = {Marks::Kind::parts, {"time_s", "time of a step", {}, "", "s"}};
  chart.marks.told = {"activity", "of which", {}};
  std::vector<std::string>& parts = chart.marks.told.labels;
  for (const ActivityInfo& activity : activities()) {
    bool any = false;
    for (const GridCell& cell : source.grid.cells) {
      const std::vector<double> values = values_of(cell, activity_metric(activity.activity));
      if (values.empty() || statistics::mean(values) <= 0) continue;
      any = true;
      add_row(chart, source, cell,
              {activity.label, static_cast<double>(parts.size()), statistics::mean(values),
               static_cast<double>(values.size())});
    }
    if (any) parts.push_back(activity.label);
  }
  if (parts.empty()) return "No run has the parts of a step.";
  for (const GridCell& cell : source.grid.cells)
    for (const double value : values_of(cell, "iteration_time_mean_s"))
      chart.marks.largest = std::max(chart.marks.largest, value);
  chart.caption = "Mean over workers, steps and seeds; the parts sum to the time of a step.";
  chart.description =
      "The time of a step as stacked bars: computing, communication that is not hidden, waiting";
  return chart;
}

MadeChart step_times_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!grid.stragglers) return "No axis of this study varies /stragglers.";
  std::vector<Column> columns;
  for (const auto& [field, title] : {std::pair{"p5", "5 % below"},
                                     {"p25", "first quartile"},
                                     {"p50", "median"},
                                     {"p75", "third quartile"},
                                     {"p95", "95 % below"},
                                     {"mean", "mean"}})
    columns.push_back({field, fmt::format("iteration_time_{}_s", field), title, "s"});
  const std::vector<Column> quantiles = columns;
  columns.push_back({"seeds", "seeds", "seeds", "1"});
  Chart chart = source.chart(columns);
  chart.marks = {Marks::Kind::boxes,
                 {"", "time of a step", {}, "", "s"},
                 {"", "", {}, "", "", {}, grid.axis(*grid.stragglers)}};
  for (const GridCell& cell : grid.cells) {
    std::vector<Cell> row;
    double largest = 0, seeds = 0;
    for (const Column& quantile : quantiles) {
      const std::vector<double> values = values_of(cell, quantile.name);
      if (values.empty()) break;
      seeds = static_cast<double>(values.size());
      row.emplace_back(statistics::mean(values));
      largest = std::max(largest, statistics::mean(values));
    }
    if (row.size() < quantiles.size()) continue;
    row.emplace_back(seeds);
    chart.marks.largest = std::max(chart.marks.largest, largest);
    add_row(chart, source, cell, row);
  }
  if (chart.rows.empty())
    return "No run has quartiles of its step times (runs of earlier versions do not; sweep run --force).";
  chart.filters = grid.filters_without({grid.series, grid.stragglers});
  chart.caption =
      "Of all steps of all workers, mean over seeds. Boxes: from the first quartile to the third, with the median; lines: from the 5th percentile to the 95th; dots: the mean.";
  chart.description = "Step times as boxes from the first quartile to the third, for each kind of straggler";
  return chart;
}

}  // namespace simsgd::questions

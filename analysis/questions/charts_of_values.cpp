// A measure for each value of the series, or along the number of workers: what `simsgd results table` says of
// it, the mean over seeds with its 95 % interval where there is one. Times to the target go up to the tau of
// all that are compared; runs that end before they arrive are censored, never dropped.
// And what a step consists of, stacked, and how long steps take under each kind of straggler.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/frame/cell.hpp"
#include "analysis/questions/chart.hpp"
#include "sim/activities.hpp"

namespace simsgd::questions {

namespace {

constexpr const char* kTargetMetric = "time_to_target_s";

/// Rows of a measure: a value with its interval for each cell that has one; `times` what it is shown as.
template <class Row>
void add_measured(const ChartSource& source, const frame::Measure& measure, Row row) {
  std::map<const GridCell*, std::optional<double>> taus;
  for (const std::vector<const GridCell*>& cells : source.grid.compared()) {
    std::vector<statistics::Runs> runs;
    for (const GridCell* cell : cells)
      runs.push_back(frame::runs_of(frame::samples_of(source.frame, cell->runs, measure)));
    for (const GridCell* cell : cells) taus[cell] = statistics::common_tau(runs);
  }
  for (const GridCell& cell : source.grid.cells) {
    const std::vector<frame::Sample> samples = frame::samples_of(source.frame, cell.runs, measure);
    if (frame::points_of(samples).empty()) continue;
    row(cell,
        frame::summarise(samples, {}, taus.at(&cell),
                         frame::is_deterministic(source.frame.details().scenario, measure.name, cell.runs)));
  }
}

struct ValueKind {
  const char *title, *metric, *axis;
  const char* missing;  ///< why there is none
};

MadeChart values_chart(const ChartSource& source, const ValueKind& kind) {
  const Grid& grid = source.grid;
  const frame::Measure measure = frame::measure_of_metric(kind.metric);
  const bool target = measure.name == kTargetMetric;
  const bool asked = grid.has_metric(kind.metric) ||
                     (target && std::any_of(grid.cells.begin(), grid.cells.end(), [&](const GridCell& cell) {
                        return !cell.runs.empty() && frame::has_target(source.frame, *cell.runs.front());
                      }));
  if (!asked) return kind.missing;
  const std::string stem = measure.name.substr(0, measure.name.rfind('_'));
  const std::string suffix = measure.name.substr(stem.size());
  std::vector<Column> columns = {{"value", measure.name, "mean", measure.unit},
                                 {"low", stem + "_low" + suffix, "95 % from", measure.unit},
                                 {"high", stem + "_high" + suffix, "to", measure.unit}};
  if (target) columns.push_back({"until", "until_s", "tau", "s"});
  if (target) columns.push_back({"arrived", "arrived", "arrived", "1"});
  columns.push_back({"seeds", "seeds", "seeds", "1"});
  Chart chart = source.chart(columns);
  chart.marks = {Marks::Kind::intervals, {"value", kind.axis, {}, {}, measure.unit}};
  add_measured(source, measure, [&](const GridCell& cell, const frame::CellSummary& summary) {
    chart.marks.largest =
        std::max({chart.marks.largest, summary.value.value_or(0), summary.until.value_or(0)});
    std::vector<Cell> values = with_ends(summary.value, summary.interval);
    if (target)
      values.insert(values.end(),
                    {summary.until ? Cell(*summary.until) : Cell(), static_cast<double>(summary.arrived)});
    values.emplace_back(static_cast<double>(summary.count()));
    add_row(chart, source, cell, values);
  });
  chart.caption =
      "Mean over seeds with its 95 % interval (Student; none of one seed, nor of deterministic runs).";
  if (target)
    chart.caption +=
        " Where some have not arrived by tau, the earliest end of a compared cell whose last run did not arrive, it is the mean of min(T, tau) (Kaplan and Meier). Open triangles: nobody arrived by then.";
  chart.description = fmt::format("{}, a dot for each value{}", kind.title,
                                  target ? "; open triangles where no run arrived" : "");
  return chart;
}

/// Efficiency is the metric scaling_efficiency, throughput per worker over that of one device alone; speed-up
/// is that times the workers.
MadeChart scaling_chart(const ChartSource& source, const std::string& name, const char* title,
                        const char* axis) {
  const Grid& grid = source.grid;
  const bool speedup = name == "speedup";
  if (!grid.workers) return "No axis of this study varies /cluster/workers.";
  const frame::Measure measure = frame::measure_of_metric("scaling_efficiency");
  if (!grid.has_metric(measure.name))
    return "No run has scaling_efficiency: its workload has no one-device time.";
  Chart chart = source.chart({{"workers", "workers", "workers", "1"},
                              {"value", name, title, "1"},
                              {"low", name + "_low", "95 % from", "1"},
                              {"high", name + "_high", "to", "1"},
                              {"seeds", "seeds", "seeds", "1"}});
  add_measured(source, measure, [&](const GridCell& cell, const frame::CellSummary& summary) {
    const double workers = *grid.axes[*grid.workers].values[cell.at[*grid.workers]].number;
    std::vector<Cell> values = with_ends(summary.value, summary.interval);
    for (Cell& each : values)
      if (double* number = std::get_if<double>(&each); number && speedup) *number *= workers;
    values.insert(values.begin(), workers);
    values.emplace_back(static_cast<double>(summary.count()));
    add_row(chart, source, cell, values);
  });
  chart.filters = grid.filters_without({grid.workers, grid.series});
  chart.caption = fmt::format(
      "{} Dashed: ideal.{}",
      speedup ? "Throughput over that of one device; both axes double from line to line."
              : "Throughput per worker over that of one device.",
      grid.seeds > 1 ? " Bands: 95 % interval of the mean over seeds (Student); none of deterministic runs."
                     : " One seed: no bands.");
  chart.description = fmt::format("{} against the number of workers, one line for each {}", title,
                                  grid.series ? grid.axes[*grid.series].name : "study");
  using Scale = Direction::Scale;
  std::vector<double> ticks;
  for (const frame::Value& value : grid.axes[*grid.workers].values) ticks.push_back(*value.number);
  std::sort(ticks.begin(), ticks.end());
  chart.marks = {Marks::Kind::lines,
                 {"workers", "workers", Scale::doubling, "d", "", ticks},
                 {"value", axis, speedup ? Scale::doubling : Scale::from_zero, speedup ? "~g" : ".0%"}};
  for (const double count : {ticks.front(), ticks.back()})
    chart.marks.ideal.emplace_back(count, speedup ? count : 1.0);
  return chart;
}

}  // namespace

MadeChart speedup_chart(const ChartSource& source) {
  return scaling_chart(source, "speedup", "Speed-up", "speed-up over one device");
}

MadeChart efficiency_chart(const ChartSource& source) {
  return scaling_chart(source, "efficiency", "Efficiency", "scaling efficiency");
}

MadeChart target_chart(const ChartSource& source) {
  return values_chart(source,
                      {"Time to target", kTargetMetric, "time to target", "These scenarios have no target."});
}

MadeChart throughput_chart(const ChartSource& source) {
  return values_chart(source,
                      {"Throughput", "throughput_samples_per_s", "samples", "No run has a throughput."});
}

MadeChart cost_chart(const ChartSource& source) {
  return values_chart(source, {"Cost of a run", "cost_usd", "cost",
                               "No device here has a price (/cluster/device/price_usd_per_h)."});
}

MadeChart energy_chart(const ChartSource& source) {
  return values_chart(
      source, {"Energy of a run", "energy_J", "energy", "No device here has a power (simsgd list device)."});
}

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

// A measure for each value of the series, or along the number of workers: what `simsgd results table` says of
// it, the mean over seeds with its 95 % interval where there is one. Times to the target go up to the tau of
// all that are compared; runs that end before they arrive are censored, never dropped.
// And what a step consists of, stacked, and how long steps take under each kind of straggler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/frame/cell.hpp"
#include "analysis/questions/chart.hpp"
#include "sim/record.hpp"

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
                     (target && std::ranges::any_of(grid.cells, [&](const GridCell& cell) {
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
      "Mean over seeds with its 95 % interval (Student; none for a single seed or for deterministic runs).";
  if (target)
    chart.caption +=
        " Where some runs miss the target by tau, the earliest end of a compared cell whose last run missed it, the mean is that of min(T, tau) (Kaplan and Meier). Open triangles: no run reached the target by then.";
  chart.description = fmt::format("{}, a dot for each value{}", kind.title,
                                  target ? "; open triangles where no run reached the target" : "");
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
      grid.seeds > 1 ? " Bands: 95 % interval of the mean over seeds (Student); none for deterministic runs."
                     : " One seed: no bands.");
  chart.description = fmt::format("{} against the number of workers, one line for each {}", title,
                                  grid.series ? grid.axes[*grid.series].name : "study");
  using Scale = Direction::Scale;
  std::vector<double> ticks;
  for (const frame::Value& value : grid.axes[*grid.workers].values) ticks.push_back(*value.number);
  std::ranges::sort(ticks);
  chart.marks = {Marks::Kind::lines,
                 {"workers", "workers", Scale::doubling, "d", "", ticks},
                 {"value", axis, speedup ? Scale::doubling : Scale::from_zero, speedup ? "~g" : ".0%"}};
  for (const double count : {ticks.front(), ticks.back()})
    chart.marks.ideal.emplace_back(count, speedup ? count : 1.0);
  return chart;
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
    return "No run has quartiles of its step times, which earlier versions did not record. Run the study again with sweep run --force.";
  chart.filters = grid.filters_without({grid.series, grid.stragglers});
  chart.caption =
      "Of all steps of all workers, mean over seeds. Boxes: from the first quartile to the third, with the median; lines: from the 5th percentile to the 95th; dots: the mean.";
  chart.description = "Step times as boxes from the first quartile to the third, for each kind of straggler";
  return chart;
}

// What single runs have: curves of loss and accuracy, expected values, links by name.

constexpr std::size_t kMostCurveRows = 24000, kMostCurvePoints = 80, kLeastCurvePoints = 12;
// Scenarios and links are read one by one: of so many cells at most.
constexpr std::size_t kMostScenarios = 2000, kMostLinkCells = 400;

struct CurveKind {
  std::string title, curve, axis, format;
  bool mean_within = false;  // of steps between two instants, instead of the value at the latter
};
using Curve = std::vector<CurvePoint>;

double curve_at(const Curve& curve, double time_s) {
  return frame::value_at(curve, time_s).value_or(curve.front().value);
}

double value_within(const Curve& curve, double from_s, double to_s) {
  double sum = 0;
  std::size_t count = 0;
  for (const CurvePoint& point : curve)
    if (point.time_s > from_s && point.time_s <= to_s) {
      sum += point.value;
      ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : curve_at(curve, to_s);
}

/// Means over seeds at equal times, until the last seed ends. One that has ended keeps its last value, so
/// that no line jumps there. Returns when the last one ends.
double add_curves_of(const ChartSource& source, const GridCell& cell, const std::vector<Curve>& curves,
                     std::size_t points, const CurveKind& kind, Chart& chart) {
  double from = curves.front().front().time_s, to = curves.front().back().time_s;
  for (const Curve& curve : curves) {
    from = std::max(from, curve.front().time_s);
    to = std::max(to, curve.back().time_s);
  }
  double time = from;
  for (std::size_t i = kind.mean_within ? 1 : 0; i <= points; ++i) {
    const double step = (to - from) / static_cast<double>(points);
    time = from + step * static_cast<double>(i);
    std::vector<double> values;
    for (const Curve& curve : curves) {
      const double end = std::min(time, curve.back().time_s);
      values.push_back(kind.mean_within ? value_within(curve, i == 1 ? -1 : end - step, end)
                                        : curve_at(curve, end));
    }
    const statistics::Estimate mean = statistics::student_mean(values);
    std::vector<Cell> row = with_ends(mean.value, mean.interval);
    row.insert(row.begin(), time);
    row.emplace_back(static_cast<double>(values.size()));
    add_row(chart, source, cell, row);
    if (!(to > from)) break;
  }
  return time;
}

/// The level that the runs were to reach, where they all have one of this curve.
std::optional<double> target_level(const ChartSource& source, const CurveKind& kind) {
  for (const frame::Axis& axis : source.grid.axes)
    if (axis.pointer.starts_with("/target")) return std::nullopt;
  for (const GridCell& cell : source.grid.cells) {
    if (cell.runs.empty()) continue;
    const nlohmann::ordered_json target =
        source.frame.details().scenario(cell.runs.front()->key).value("target", nlohmann::ordered_json());
    if (!target.is_object() || target.value("metric", "none") != kind.curve) return std::nullopt;
    const auto level = target.find("value");
    return level != target.end() && level->is_number() ? std::optional(level->get<double>()) : std::nullopt;
  }
  return std::nullopt;
}

MadeChart curve_chart(const ChartSource& source, const CurveKind& kind) {
  const Grid& grid = source.grid;
  if (!grid.has_metric("train_loss_final") && !grid.has_metric("test_accuracy_final"))
    return "Nothing was learned: these scenarios have no learner.";
  std::map<const GridCell*, std::vector<Curve>> of_cell;
  std::size_t left_out = 0;
  for (const GridCell& cell : grid.cells) {
    if (of_cell.size() * kLeastCurvePoints >= kMostCurveRows) {
      ++left_out;
      continue;
    }
    for (const ResultPoint* run : cell.runs)
      if (Curve curve = source.frame.details().curve(run->key, kind.curve); !curve.empty())
        of_cell[&cell].push_back(std::move(curve));
  }
  if (of_cell.empty()) return fmt::format("No run has a curve {}.", kind.curve);
  Chart chart = source.chart({{"time_s", "time_s", "simulated time", "s"},
                              {"value", kind.curve, kind.title, "1"},
                              {"low", kind.curve + "_low", "95 % from", "1"},
                              {"high", kind.curve + "_high", "to", "1"},
                              {"seeds", "seeds", "seeds", "1"}});
  chart.marks = {Marks::Kind::lines,
                 {"time_s", "simulated time", {}, "", "s"},
                 {"value", kind.axis, Direction::Scale::spread, kind.format}};
  const bool evaluated_once = std::ranges::all_of(of_cell, [](const auto& of) {
    return std::ranges::all_of(of.second, [](const Curve& curve) { return curve.size() == 1; });
  });
  chart.marks.points = evaluated_once;  // a line through one point shows nothing
  chart.marks.level = target_level(source, kind);
  const std::size_t points = std::clamp(kMostCurveRows / of_cell.size(), kLeastCurvePoints, kMostCurvePoints);
  for (const auto& [cell, curves] : of_cell)
    chart.marks.largest =
        std::max(chart.marks.largest, add_curves_of(source, *cell, curves, points, kind, chart));
  chart.caption = fmt::format(
      "{}{}{}{}",
      evaluated_once
          ? "Each run was evaluated once, at its end; record/evaluate_every gives a curve."
          : fmt::format(
                "{}, at {} equal steps of time until the last seed ends; one that has ended keeps its last value.",
                kind.mean_within ? "Mean of the mini-batch losses since the instant before"
                                 : "Linear between evaluations",
                points),
      grid.seeds > 1 ? " Bands: 95 % interval of the mean over seeds (Student)." : " One seed: no bands.",
      chart.marks.level ? " Dashed: the target." : "",
      left_out > 0 ? fmt::format(" {} cells are left out, for size.", left_out) : "");
  chart.description = fmt::format("{} against simulated time", kind.title);
  return chart;
}

void add_expected(const ChartSource& source, const GridCell& cell, Chart& chart) {
  const nlohmann::ordered_json scenario = source.frame.details().scenario(cell.runs.front()->key);
  if (!scenario.is_object() || !scenario.contains("expected") || !scenario["expected"].is_array()) return;
  for (const auto& each : scenario["expected"]) {
    const std::string metric = each.at("metric"), unit = frame::measure_of_metric(metric).unit;
    const std::vector<double> values = values_of(cell, metric);
    const double measured = each.at("value"), tolerance = each.value("tolerance", 0.0);
    Cell shown, error, holds = "outside";
    if (!values.empty()) {
      const double simulated = statistics::mean(values), off = simulated - measured;
      shown = simulated;
      if (measured != 0) error = off / std::fabs(measured);
      if (std::fabs(off) <= tolerance * std::fabs(measured)) holds = "within";
    }
    add_row(chart, source, cell,
            {metric, unit.empty() ? "1" : unit, measured, shown, error, tolerance, holds});
  }
}

MadeChart measured_chart(const ChartSource& source) {
  Chart chart = source.chart({{"metric", "metric", "metric", ""},
                              {"unit", "unit", "unit", ""},
                              {"measured", "measured", "measured", "1"},
                              {"simulated", "simulated", "simulated", "1"},
                              {"error", "relative_error", "error", "1"},
                              {"tolerance", "tolerance", "tolerance", "1"},
                              {"holds", "holds", "tolerance kept", ""}});
  std::size_t read = 0;
  for (const GridCell& cell : source.grid.cells)
    if (!cell.runs.empty() && ++read <= kMostScenarios) add_expected(source, cell, chart);
  if (chart.rows.empty()) return "These scenarios carry no expected values.";
  chart.filters = source.grid.filters_without({source.grid.series, source.grid.workers});
  chart.caption = "Each dot is an expected value of a scenario, SI units, mean over seeds. Dashed: equal.";
  if (read > kMostScenarios) chart.caption += fmt::format(" Of the first {} cells.", kMostScenarios);
  chart.description = "Simulated values against measured ones; dots on the dashed line agree";
  double least = INFINITY, most = 0;
  for (const std::vector<Cell>& row : chart.rows)
    for (std::size_t c = chart.columns.size() - 5; c < chart.columns.size() - 3; ++c)
      if (const double* value = std::get_if<double>(&row[c]); value && *value > 0) {
        least = std::min(least, *value);
        most = std::max(most, *value);
      }
  const auto along = [](const char* field) {
    return Direction{field, field, Direction::Scale::tenfold, ".3~g"};
  };
  chart.marks = {Marks::Kind::dots, along("measured"), along("simulated")};
  chart.marks.ideal = {{least, least}, {most, most}};
  chart.marks.told = {"holds", "tolerance", {"within", "outside"}};
  return chart;
}

MadeChart links_chart(const ChartSource& source) {
  Chart chart = source.chart({{"link", "link", "link", ""},
                              {"utilisation", "utilisation", "share of the time in use", "1"},
                              {"bytes", "bytes", "traffic", "B"}});
  std::size_t read = 0;
  for (const GridCell& cell : source.grid.cells) {
    if (cell.runs.empty() || ++read > kMostLinkCells) continue;
    for (const ResultLink& link : source.frame.details().busiest_links(cell.runs.front()->key))
      add_row(chart, source, cell, {link.name, link.utilisation, link.bytes});
  }
  if (chart.rows.empty()) return "No run lists its links: collectives in closed form use none.";
  chart.filters = source.grid.filters_without({});
  chart.caption = "The ten busiest links of the first seed's run.";
  if (read > kMostLinkCells) chart.caption += fmt::format(" Of the first {} cells.", kMostLinkCells);
  chart.description = "The busiest links by name, and the share of the time in which they are in use";
  chart.marks = {
      Marks::Kind::bars, {"utilisation", "share of the time in use", {}, ".2~%"}, {"link", "", {}, ""}};
  return chart;
}

}  // namespace

const std::vector<ChartKind>& chart_kinds() {
  using Source = const ChartSource&;
  static const std::vector<ChartKind> kinds = {
      {"target", "Time to target", "Mean time to the target; runs that miss it are censored",
       +[](Source source) {
         return values_chart(
             source, {"Time to target", kTargetMetric, "time to target", "These scenarios have no target."});
       }},
      {"pareto", "Cost against time", "Cost and time of every choice, and the Pareto front", pareto_chart},
      {"throughput", "Throughput", "Samples per second",
       +[](Source source) {
         return values_chart(
             source, {"Throughput", "throughput_samples_per_s", "samples", "No run has a throughput."});
       }},
      {"speedup", "Speed-up", "Throughput over one device's, against workers",
       +[](Source source) {
         return scaling_chart(source, "speedup", "Speed-up", "speed-up over one device");
       }},
      {"efficiency", "Efficiency", "Throughput per worker over one device's, against workers",
       +[](Source source) {
         return scaling_chart(source, "efficiency", "Efficiency", "scaling efficiency");
       }},
      {"cost", "Cost of a run", "USD, where devices have a price",
       +[](Source source) {
         return values_chart(source, {"Cost of a run", "cost_usd", "cost",
                                      "No device here has a price (/cluster/device/price_usd_per_h)."});
       }},
      {"energy", "Energy of a run", "Where devices have a power",
       +[](Source source) {
         return values_chart(source, {"Energy of a run", "energy_J", "energy",
                                      "No device here has a power (simsgd list device)."});
       }},
      {"winners", "Who wins where", "The best of the algorithms over two axes, ties hatched", winners_chart},
      {"breakdown", "Where the time of a step goes", "Parts of a step, stacked", breakdown_chart},
      {"step_times", "Step times under each straggler", "Quantiles of step times as boxes", step_times_chart},
      {"loss", "Training loss", "Against simulated time",
       +[](Source source) {
         return curve_chart(source, {"Training loss", "train_loss", "training loss", "~g", true});
       }},
      {"accuracy", "Test accuracy", "Against simulated time",
       +[](Source source) {
         return curve_chart(source, {"Test accuracy", "test_accuracy", "test accuracy", ".0%", false});
       }},
      {"measured", "Measured against simulated", "Where scenarios carry expected values", measured_chart},
      {"links", "Busiest links", "By name, of one run of each cell", links_chart}};
  return kinds;
}

}  // namespace simsgd::questions

// Loss and accuracy against simulated time: mean over seeds at equal times, until the last seed ends. A seed
// that has ended keeps its last value, so that no line jumps there. Bands: Student's 95 %.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/statistics/intervals.hpp"

namespace simsgd::report {

namespace {

constexpr std::size_t kMostCurveRows = 24000, kMostCurvePoints = 80, kLeastCurvePoints = 12;

struct CurveKind {
  std::string name, title, curve, axis, format;
  bool mean_within = false;  // of steps between two instants, instead of the value at the latter
};

// Linearly between two values of the curve; before the first and after the last, these.
double value_at(const std::vector<CurvePoint>& curve, double time_s) {
  const auto after =
      std::lower_bound(curve.begin(), curve.end(), time_s,
                       [](const CurvePoint& point, double time) { return point.time_s < time; });
  if (after == curve.begin()) return curve.front().value;
  if (after == curve.end()) return curve.back().value;
  const CurvePoint& before = *(after - 1);
  const double share = (time_s - before.time_s) / (after->time_s - before.time_s);
  return before.value + share * (after->value - before.value);
}

double value_within(const std::vector<CurvePoint>& curve, double from_s, double to_s) {
  double sum = 0;
  std::size_t count = 0;
  for (const CurvePoint& point : curve)
    if (point.time_s > from_s && point.time_s <= to_s) {
      sum += point.value;
      ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : value_at(curve, to_s);
}

using Curves = std::vector<std::vector<CurvePoint>>;

void add_rows(const Grid& grid, const GridCell& cell, const Curves& curves, std::size_t points,
              const CurveKind& kind, Chart& chart) {
  double from = curves.front().front().time_s, to = curves.front().back().time_s;
  for (const auto& curve : curves) {
    from = std::max(from, curve.front().time_s);
    to = std::max(to, curve.back().time_s);
  }
  for (std::size_t i = kind.mean_within ? 1 : 0; i <= points; ++i) {
    const double step = (to - from) / static_cast<double>(points),
                 time = from + step * static_cast<double>(i);
    std::vector<double> values;
    for (const auto& curve : curves) {
      const double end = std::min(time, curve.back().time_s);
      values.push_back(kind.mean_within ? value_within(curve, i == 1 ? -1 : end - step, end)
                                        : value_at(curve, end));
    }
    const statistics::Estimate mean = statistics::student_mean(values);
    std::vector<Cell> row = axis_cells(grid, cell);
    row.insert(row.end(),
               {time, mean.value, std::monostate{}, std::monostate{}, static_cast<double>(values.size())});
    if (mean.interval) {
      row[row.size() - 3] = mean.interval->low;
      row[row.size() - 2] = mean.interval->high;
    }
    chart.rows.push_back(std::move(row));
    if (!(to > from)) break;
  }
}

/// The level that the runs were to reach, where they all have one of this curve.
std::optional<double> target_level(const ChartSource& source, const CurveKind& kind) {
  for (const frame::Axis& axis : source.grid.axes)
    if (axis.pointer.starts_with("/target")) return std::nullopt;
  for (const GridCell& cell : source.grid.cells) {
    if (cell.runs.empty()) continue;
    const Spec target = source.frame.details().scenario(cell.runs.front()->key).value("target", Spec());
    if (!target.is_object() || target.value("metric", "none") != kind.curve) return std::nullopt;
    const auto level = target.find("value");
    return level != target.end() && level->is_number() ? std::optional(level->get<double>()) : std::nullopt;
  }
  return std::nullopt;
}

Spec curve_spec(const ChartSource& source, const Chart& chart, const CurveKind& kind, double longest_s) {
  const ShownTime shown = shown_time(longest_s);
  const Spec x = channel("shown_time", "quantitative", "simulated time (" + shown.unit + ")");
  Spec y = channel("value", "quantitative", kind.axis);
  y["scale"] = {{"zero", false}};
  y["axis"] = {{"format", kind.format}};
  Spec low = y;
  low["field"] = "drawn_low";
  const Spec colour = series_colour(source.grid);
  Spec spec = framed(chart.description, 320);
  spec["params"] = highlight_parameter();
  spec["transform"] = {{{"calculate", fmt::format("datum.time_s / {}", shown.size_s)}, {"as", "shown_time"}}};
  const auto layer = [&](Spec mark, const Spec& up, const Spec& opacity) {
    return Spec{{"mark", std::move(mark)},
                {"encoding", {{"x", x}, {"y", up}, {"color", colour}, {"opacity", opacity}}}};
  };
  Spec band = layer({{"type", "area"}, {"aria", false}}, low, highlighted(source.grid, 0.18));
  band["params"] = legend_parameter(source.grid);
  band["transform"] = {
      // a single seed's has no width
      {{"calculate", "isValid(datum.low) ? datum.low : datum.value"}, {"as", "drawn_low"}},
      {{"calculate", "isValid(datum.high) ? datum.high : datum.value"}, {"as", "drawn_high"}}};
  band["encoding"]["y2"] = {{"field", "drawn_high"}};
  // What a pointer meets.
  Spec met = layer({{"type", "point"}, {"size", 90}, {"filled", true}}, y, {{"value", 0}});
  met["encoding"]["tooltip"] = tooltip(chart.columns);
  spec["layer"] = {band, layer({{"type", "line"}, {"aria", false}}, y, highlighted(source.grid, 1)), met};
  if (const auto level = target_level(source, kind))
    spec["layer"].push_back({{"data", {{"values", {{{"level", *level}}}}}},
                             {"mark", {{"type", "rule"}, {"strokeDash", {5, 4}}, {"color", "var(--ink)"}}},
                             {"encoding", {{"y", {{"field", "level"}, {"type", "quantitative"}}}}}});
  return spec;
}

MadeChart curve_chart(const ChartSource& source, const CurveKind& kind) {
  const Grid& grid = source.grid;
  if (!has_metric(grid, "train_loss_final") && !has_metric(grid, "test_accuracy_final"))
    return "Nothing was learned: these scenarios have no learner.";
  std::map<std::size_t, Curves> of_cell;
  std::size_t left_out = 0;
  for (std::size_t c = 0; c < grid.cells.size(); ++c) {
    if (of_cell.size() * kLeastCurvePoints >= kMostCurveRows) {
      ++left_out;
      continue;
    }
    Curves curves;
    for (const ResultPoint* run : grid.cells[c].runs)
      if (std::vector<CurvePoint> curve = source.frame.details().curve(run->key, kind.curve); !curve.empty())
        curves.push_back(std::move(curve));
    if (!curves.empty()) of_cell[c] = std::move(curves);
  }
  if (of_cell.empty()) return fmt::format("No run has a curve {}.", kind.curve);
  Chart chart{kind.name, kind.title, "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"time_s", "time_s", "simulated time", "s"});
  chart.columns.push_back({"value", kind.curve, kind.title, "1"});
  chart.columns.push_back({"low", kind.curve + "_low", "95 % from", "1"});
  chart.columns.push_back({"high", kind.curve + "_high", "to", "1"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  const std::size_t points = std::clamp(kMostCurveRows / of_cell.size(), kLeastCurvePoints, kMostCurvePoints);
  double longest = 0;
  for (const auto& [c, curves] : of_cell) {
    add_rows(grid, grid.cells[c], curves, points, kind, chart);
    longest = std::max(longest, std::get<double>(chart.rows.back()[grid.axes.size()]));
  }
  chart.filters = filters_without(grid, {grid.series});
  chart.caption = fmt::format(
      "{}, at {} equal steps of time until the last seed ends; one that has ended keeps its last value.{}{}{}",
      kind.mean_within ? "Mean of the mini-batch losses since the instant before"
                       : "Linear between evaluations",
      points,
      grid.seeds > 1 ? " Bands: 95 % interval of the mean over seeds (Student)." : " One seed: no bands.",
      target_level(source, kind) ? " Dashed: the target." : "",
      left_out > 0 ? fmt::format(" {} cells are left out, for size.", left_out) : "");
  chart.description = fmt::format("{} against simulated time", kind.title);
  chart.spec = curve_spec(source, chart, kind, longest);
  return chart;
}

}  // namespace

MadeChart loss_chart(const ChartSource& source) {
  return curve_chart(source, {"loss", "Training loss", "train_loss", "training loss", "~g", true});
}

MadeChart accuracy_chart(const ChartSource& source) {
  return curve_chart(source, {"accuracy", "Test accuracy", "test_accuracy", "test accuracy", ".0%", false});
}

}  // namespace simsgd::report

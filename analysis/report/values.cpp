// A measure for each value of the series: what `simsgd results table` says of it, the mean over seeds with
// its 95 % interval where there is one. Times to the target go up to the tau of all that are compared; runs
// that end before they arrive are censored, never dropped.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/frame/cell.hpp"
#include "analysis/questions/numbers.hpp"
#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"

namespace simsgd::report {

namespace {

constexpr const char* kTarget = "time_to_target_s";

struct ValueKind {
  const char *name, *title, *metric, *axis;
  const char* missing;  ///< why there is none
};

Spec values_spec(const ChartSource& source, const Chart& chart, const ValueKind& kind, double largest) {
  const Grid& grid = source.grid;
  const std::string si_unit = frame::measure_of_metric(kind.metric).unit;
  const CommonUnit common = questions::unit_for(si_unit, {largest});
  const ShownTime shown = si_unit == "s" ? shown_time(largest) : ShownTime{common.name, common.size};
  // An end that is not known is drawn where the mark is: a rule of no length, and a finite axis.
  const auto scaled = [&](const std::string& field) {
    return Spec{
        {"calculate",
         fmt::format(
             "(isValid(datum.{0}) ? datum.{0} : isValid(datum.value) ? datum.value : datum.until) / {1}",
             field, shown.size_s)},
        {"as", "shown_" + field}};
  };
  const Spec x = channel("shown_value", "quantitative", fmt::format("{} ({})", kind.axis, shown.unit));
  Spec low = x, until = x;
  low["field"] = "shown_low";
  until["field"] = "shown_until";
  Spec y = {{"value", 20}}, colour = series_colour(grid);
  if (grid.series) {
    y = channel(field_of(*grid.series), "nominal", grid.axes[*grid.series].name);
    y["sort"] = grid.axes[*grid.series].labels();
    y["axis"] = {{"title", nullptr}, {"grid", true}};
    colour["legend"] = nullptr;
  }
  const Spec strength = highlighted(grid, 1), tips = tooltip(chart.columns);
  Spec spec = framed(chart.description, rows_height(grid, 34));
  spec["params"] = highlight_parameter();
  spec["transform"] = {scaled("value"),
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
                  {"size", shown_where("isValid(datum.value)", 90)},
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
         {"size", shown_where("!isValid(datum.value)", 130)},
         {"color", colour},
         {"opacity", strength},
         {"tooltip", tips}}}},
      {{"transform", {{{"filter", "datum.arrived < datum.seeds"}}}},
       {"mark",
        {{"type", "text"}, {"align", "left"}, {"dx", 10}, {"fontSize", 11}, {"color", "var(--muted)"}}},
       {"encoding", {{"x", {{"value", "width"}}}, {"y", y}, {"text", {{"field", "share"}}}}}}};
  return spec;
}

MadeChart values_chart(const ChartSource& source, const ValueKind& kind) {
  const Grid& grid = source.grid;
  const frame::Measure measure = frame::measure_of_metric(kind.metric);
  const bool target = measure.name == kTarget;
  const bool asked = has_metric(grid, kind.metric) ||
                     (target && std::any_of(grid.cells.begin(), grid.cells.end(), [&](const GridCell& cell) {
                        return !cell.runs.empty() && frame::has_target(source.frame, *cell.runs.front());
                      }));
  if (!asked) return kind.missing;
  Chart chart{kind.name, kind.title, "", "", axis_columns(grid), {}, {}, {}};
  const std::string stem = std::string(kind.metric).substr(0, std::string(kind.metric).rfind('_'));
  const std::string suffix = std::string(kind.metric).substr(stem.size());
  chart.columns.push_back({"value", kind.metric, "mean", measure.unit});
  chart.columns.push_back({"low", stem + "_low" + suffix, "95 % from", measure.unit});
  chart.columns.push_back({"high", stem + "_high" + suffix, "to", measure.unit});
  if (target) chart.columns.push_back({"until", "until_s", "tau", "s"});
  if (target) chart.columns.push_back({"arrived", "arrived", "arrived", "1"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  std::map<const GridCell*, std::optional<double>> taus;
  for (const std::vector<const GridCell*>& cells : compared_cells(grid)) {
    std::vector<statistics::Runs> runs;
    for (const GridCell* cell : cells)
      runs.push_back(frame::runs_of(frame::samples_of(source.frame, cell->runs, measure)));
    for (const GridCell* cell : cells) taus[cell] = statistics::common_tau(runs);
  }
  double largest = 0;
  for (const GridCell& cell : grid.cells) {
    const std::vector<frame::Sample> samples = frame::samples_of(source.frame, cell.runs, measure);
    if (frame::points_of(samples).empty()) continue;
    const frame::CellSummary summary = frame::summarise(
        samples, {}, taus.at(&cell), frame::is_deterministic(source.frame.details().scenario, cell.runs));
    largest = std::max({largest, summary.value.value_or(0), summary.until.value_or(0)});
    std::vector<Cell> row = axis_cells(grid, cell);
    const auto known = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
    const auto end = [&](double statistics::Interval::*side) {
      return summary.interval ? Cell((*summary.interval).*side) : Cell();
    };
    row.insert(row.end(),
               {known(summary.value), end(&statistics::Interval::low), end(&statistics::Interval::high)});
    if (target) row.insert(row.end(), {known(summary.until), static_cast<double>(summary.arrived)});
    row.emplace_back(static_cast<double>(summary.count()));
    chart.rows.push_back(std::move(row));
  }
  chart.filters = filters_without(grid, {grid.series});
  chart.caption =
      "Mean over seeds with its 95 % interval (Student; none of one seed, nor of deterministic runs).";
  if (target)
    chart.caption +=
        " Where some have not arrived by tau, the earliest end of a compared cell whose last run did not arrive, it is the mean of min(T, tau) (Kaplan and Meier). Open triangles: nobody arrived by then.";
  chart.description = fmt::format("{}, a dot for each value{}", kind.title,
                                  target ? "; open triangles where no run arrived" : "");
  chart.spec = values_spec(source, chart, kind, largest);
  return chart;
}

}  // namespace

MadeChart target_chart(const ChartSource& source) {
  return values_chart(
      source, {"target", "Time to target", kTarget, "time to target", "These scenarios have no target."});
}

MadeChart throughput_chart(const ChartSource& source) {
  return values_chart(source, {"throughput", "Throughput", "throughput_samples_per_s", "samples",
                               "No run has a throughput."});
}

MadeChart cost_chart(const ChartSource& source) {
  return values_chart(source, {"cost", "Cost of a run", "cost_usd", "cost",
                               "No device here has a price (/cluster/device/price_usd_per_h)."});
}

MadeChart energy_chart(const ChartSource& source) {
  return values_chart(source, {"energy", "Energy of a run", "energy_J", "energy",
                               "No device here has a power (simsgd list device)."});
}

}  // namespace simsgd::report

// Time to target: what `simsgd results table` says of it, the mean over seeds up to the tau of all that are
// compared, with its 95 % interval where there is one. Runs that end before they arrive are censored, never
// dropped.
#include "analysis/report/target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/spec.hpp"
#include "analysis/tables/cell.hpp"

namespace simsgd::report {

namespace {

constexpr const char* kMetric = "time_to_target_s";

Spec target_spec(const ChartSource& source, const Chart& chart, double longest_s) {
  const Grid& grid = source.grid;
  const ShownTime shown = shown_time(longest_s);
  // An end that is not known is drawn where the mark is: a rule of no length, and a finite axis.
  const auto scaled = [&](const std::string& field) {
    return Spec{
        {"calculate",
         fmt::format(
             "(isValid(datum.{0}) ? datum.{0} : isValid(datum.value) ? datum.value : datum.until) / {1}",
             field, shown.size_s)},
        {"as", "shown_" + field}};
  };
  const Spec x = channel("shown_value", "quantitative", "time to target (" + shown.unit + ")");
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

std::vector<tables::Sample> samples_of(const GridCell& cell, const std::string& metric) {
  using Kind = tables::Sample::Kind;
  std::vector<tables::Sample> samples;
  for (const ResultPoint* run : cell.runs) {
    const auto found = run->metrics.find(metric), end = run->metrics.find("simulated_time_s");
    if (found != run->metrics.end())
      samples.push_back({run, Kind::value, found->second});
    else if (metric == kMetric && end != run->metrics.end())
      samples.push_back({run, Kind::censored, end->second});
  }
  return samples;
}

std::map<std::vector<std::size_t>, std::vector<const GridCell*>> compared_cells(const Grid& grid) {
  std::map<std::vector<std::size_t>, std::vector<const GridCell*>> groups;
  for (const GridCell& cell : grid.cells) {
    std::vector<std::size_t> at = cell.at;
    if (grid.series) at[*grid.series] = 0;
    if (!cell.runs.empty()) groups[at].push_back(&cell);
  }
  return groups;
}

MadeChart target_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!has_target(source)) return "These scenarios have no target.";
  Chart chart{"target", "Time to target", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"value", "time_to_target_s", "mean", "s"});
  chart.columns.push_back({"low", "time_to_target_low_s", "95 % from", "s"});
  chart.columns.push_back({"high", "time_to_target_high_s", "to", "s"});
  chart.columns.push_back({"until", "until_s", "tau", "s"});
  chart.columns.push_back({"arrived", "arrived", "arrived", "1"});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  std::map<const GridCell*, std::optional<double>> taus;
  for (const auto& [at, cells] : compared_cells(grid)) {
    std::vector<statistics::Runs> runs;
    for (const GridCell* cell : cells) runs.push_back(tables::runs_of(samples_of(*cell, kMetric)));
    for (const GridCell* cell : cells) taus[cell] = statistics::common_tau(runs);
  }
  double longest = 0;
  for (const GridCell& cell : grid.cells) {
    const std::vector<tables::Sample> samples = samples_of(cell, kMetric);
    if (samples.empty()) continue;
    const tables::CellSummary summary = tables::summarise(
        samples, {}, taus.at(&cell), tables::is_deterministic(source.results.scenario, cell.runs));
    longest = std::max({longest, summary.value.value_or(0), summary.until.value_or(0)});
    std::vector<Cell> row = axis_cells(grid, cell);
    const auto known = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
    const auto end = [&](double statistics::Interval::*side) {
      return summary.interval ? Cell((*summary.interval).*side) : Cell();
    };
    row.insert(row.end(), {known(summary.value), end(&statistics::Interval::low),
                           end(&statistics::Interval::high), known(summary.until),
                           static_cast<double>(summary.arrived), static_cast<double>(summary.count())});
    chart.rows.push_back(std::move(row));
  }
  chart.filters = filters_without(grid, {grid.series});
  chart.caption =
      "Mean over seeds with its 95 % interval (Student; none of one seed, nor of deterministic runs). Where some have not arrived by tau, the earliest end of a compared cell whose last run did not arrive, it is the mean of min(T, tau) (Kaplan and Meier). Open triangles: nobody arrived by then.";
  chart.description = "Time to the target, a dot for each value; open triangles where no run arrived";
  chart.spec = target_spec(source, chart, longest);
  return chart;
}

}  // namespace simsgd::report

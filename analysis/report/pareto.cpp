// Cost against time: what each choice costs and how long it takes, to the target or for a million samples,
// and the choices that no other one beats in both.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/statistics/intervals.hpp"

namespace simsgd::report {

namespace {

constexpr double kSamples = 1e6;

struct Point {
  const GridCell* cell;
  double time_s = 0, cost_usd = 0;
  std::size_t seeds = 0;
  bool front = true;
  bool alone = false;  ///< no other choice is met under its circumstances
};

/// Of a cell all of whose runs arrive; means over its seeds.
std::optional<Point> point_of(const GridCell& cell, bool to_target) {
  std::vector<double> times, costs;
  for (const ResultPoint* run : cell.runs) {
    const auto metric = [&](const char* name) {
      const auto found = run->metrics.find(name);
      return found == run->metrics.end() ? 0 : found->second;
    };
    const double cost_usd = metric("cost_usd"), ran_s = metric("simulated_time_s"),
                 throughput = metric("throughput_samples_per_s");
    const double time_s = to_target ? metric("time_to_target_s") : throughput > 0 ? kSamples / throughput : 0;
    if (!(cost_usd > 0 && ran_s > 0 && time_s > 0)) return std::nullopt;
    times.push_back(time_s);
    costs.push_back(time_s * cost_usd / ran_s);
  }
  if (times.empty()) return std::nullopt;
  return Point{&cell, statistics::mean(times), statistics::mean(costs), times.size()};
}

/// Which none beats that is met under the same circumstances.
void mark_front(const Grid& grid, std::vector<Point>& points) {
  std::map<std::vector<std::size_t>, std::vector<Point*>> together;
  for (Point& point : points) {
    std::vector<std::size_t> happens;
    for (std::size_t axis = 0; axis < grid.axes.size(); ++axis)
      if (grid.axes[axis].circumstance) happens.push_back(point.cell->at[axis]);
    together[happens].push_back(&point);
  }
  for (auto& [happens, group] : together) {
    std::sort(group.begin(), group.end(), [](const Point* a, const Point* b) {
      return std::pair(a->time_s, a->cost_usd) < std::pair(b->time_s, b->cost_usd);
    });
    group.front()->alone = group.size() == 1;
    const Point* last = nullptr;  // on the front: the cheapest so far
    for (Point* point : group) {
      const bool same = last && point->time_s == last->time_s && point->cost_usd == last->cost_usd;
      point->front = same || !last || point->cost_usd < last->cost_usd;
      if (point->front) last = point;
    }
  }
}

Spec pareto_spec(const ChartSource& source, const Chart& chart, double longest_s) {
  const ShownTime shown = shown_time(longest_s);
  Spec x = channel("shown_time", "quantitative", fmt::format("time ({})", shown.unit)),
       y = channel("cost_usd", "quantitative", "cost (USD)");
  for (Spec* each : {&x, &y}) (*each)["scale"] = {{"zero", false}};
  Spec spec = framed(chart.description, 320);
  spec["params"] = highlight_parameter();
  spec["transform"] = {{{"calculate", fmt::format("datum.time_s / {}", shown.size_s)}, {"as", "shown_time"}}};
  const Spec line = {{"type", "line"},     {"interpolate", "step-after"}, {"aria", false},
                     {"strokeWidth", 1.5}, {"strokeDash", {5, 4}},        {"color", "var(--muted)"}};
  spec["layer"] = {{{"transform", {{{"filter", "datum.front === 'yes'"}}}},
                    {"mark", line},
                    {"encoding", {{"x", x}, {"y", y}}}},
                   {{"params", legend_parameter(source.grid)},
                    {"mark", {{"type", "point"}, {"filled", true}, {"size", 80}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"color", series_colour(source.grid)},
                      {"shape", series_shape(source.grid)},
                      {"opacity", highlighted(source.grid, 1)},
                      {"tooltip", tooltip(chart.columns)}}}}};
  return spec;
}

}  // namespace

MadeChart pareto_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!has_metric(grid, "cost_usd")) return "No device here has a price (/cluster/device/price_usd_per_h).";
  const bool to_target = has_metric(grid, "time_to_target_s");
  std::vector<Point> points;
  std::size_t ran = 0;
  for (const GridCell& cell : grid.cells) {
    ran += cell.runs.empty() ? 0U : 1U;
    if (const auto point = point_of(cell, to_target)) points.push_back(*point);
  }
  if (points.empty()) return "No setting has a cost and a time of all its seeds.";
  mark_front(grid, points);
  if (std::all_of(points.begin(), points.end(), [](const Point& point) { return point.alone; }))
    return "No two choices ran under the same circumstances.";
  Chart chart{"pareto", "Cost against time", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns.push_back({"time_s", "time_s", "time", "s"});
  chart.columns.push_back({"cost_usd", "cost_usd", "cost", "USD"});
  chart.columns.push_back({"front", "front", "unbeaten", ""});
  chart.columns.push_back({"seeds", "seeds", "seeds", "1"});
  double longest = 0;
  for (const Point& point : points) {
    std::vector<Cell> row = axis_cells(grid, *point.cell);
    row.insert(row.end(),
               {point.time_s, point.cost_usd, point.alone ? Cell() : Cell(point.front ? "yes" : "no"),
                static_cast<double>(point.seeds)});
    chart.rows.push_back(std::move(row));
    longest = std::max(longest, point.time_s);
  }
  for (std::size_t axis = 0; axis < grid.axes.size(); ++axis)
    if (grid.axes[axis].circumstance) chart.filters.push_back(field_of(axis));
  chart.caption = fmt::format(
      "What {} costs, and how long it takes: means over seeds of every choice. The dashed line joins those that no other one beats in both.{}",
      to_target ? "reaching the target" : "a million samples",
      points.size() < ran
          ? fmt::format(" {} settings are left out, in which a seed misses the target.", ran - points.size())
          : "");
  chart.description = "Cost against time, a dot for each choice, and the front that none beats";
  chart.spec = pareto_spec(source, chart, longest);
  return chart;
}

}  // namespace simsgd::report

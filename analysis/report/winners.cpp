// Who wins where: the best value of the series axis in each cell of two others. The best is compared with
// every other one, seed by seed, and is tied with those whose difference's interval holds 0 after Holm's
// correction. Time to target is compared as restricted times min(T, tau), tau the earliest end of a run that
// did not arrive: these are known of every run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"
#include "analysis/report/target.hpp"
#include "analysis/statistics/comparison.hpp"

namespace simsgd::report {

namespace {

struct Contest {
  std::string metric, title, unit;
  bool less_is_better = true;
};

Contest contest_of(const ChartSource& source) {
  if (has_metric(source.grid, "time_to_target_s")) return {"time_to_target_s", "time to target", "s", true};
  if (has_metric(source.grid, "throughput_samples_per_s"))
    return {"throughput_samples_per_s", "throughput", "1/s", false};
  return {"iteration_time_mean_s", "time of a step", "s", true};
}

// By seed; the runs of a contender in one cell.
using Values = std::map<std::int64_t, double>;

Values values_by_seed(const GridCell& cell, const Contest& contest, double until_s) {
  Values values;
  std::int64_t next = 0;
  for (const ResultPoint* run : cell.runs) {
    const std::int64_t seed = run->seed.value_or(next++);
    if (contest.metric == "time_to_target_s") {
      values[seed] = std::min(observation_of(*run).time, until_s);
    } else if (const auto found = run->metrics.find(contest.metric); found != run->metrics.end()) {
      values[seed] = found->second;
    }
  }
  return values;
}

statistics::Difference difference_of(const Values& best, const Values& other) {
  std::vector<statistics::Pair> pairs;
  for (const auto& [seed, value] : other)
    if (const auto found = best.find(seed); found != best.end()) pairs.push_back({found->second, value});
  if (!pairs.empty()) return statistics::paired_difference(pairs);
  std::vector<double> mine, theirs;
  for (const auto& each : best) mine.push_back(each.second);
  for (const auto& each : other) theirs.push_back(each.second);
  return statistics::unpaired_difference(mine, theirs);
}

double mean_of(const Values& values) {
  double sum = 0;
  for (const auto& each : values) sum += each.second;
  return sum / static_cast<double>(values.size());
}

struct Winner {
  std::size_t series = 0;
  double value = 0;
  bool certain = true;  // there was an interval to tell
  std::vector<std::size_t> tied;
  bool arrived = true;
};

// Cells that differ in the series alone.
std::optional<Winner> winner_of(const std::map<std::size_t, const GridCell*>& contenders,
                                const Contest& contest) {
  double until = std::numeric_limits<double>::infinity();
  bool arrived = contest.metric != "time_to_target_s";
  if (!arrived)
    for (const auto& each : contenders)
      for (const statistics::Observation& seen : observations_of(*each.second)) {
        if (!seen.arrived) until = std::min(until, seen.time);
        arrived = arrived || seen.arrived;
      }
  std::map<std::size_t, Values> values;
  for (const auto& each : contenders)
    if (Values found = values_by_seed(*each.second, contest, until); !found.empty())
      values[each.first] = std::move(found);
  if (values.empty()) return std::nullopt;
  Winner winner;
  bool first = true;
  for (const auto& [series, each] : values) {
    const double mean = mean_of(each);
    if (!first && !(contest.less_is_better ? mean < winner.value : mean > winner.value)) continue;
    winner.series = series;
    winner.value = mean;
    first = false;
  }
  winner.arrived = arrived;
  std::vector<statistics::Difference> differences;
  std::vector<double> p;
  std::vector<std::size_t> others;
  for (const auto& [series, each] : values) {
    if (series == winner.series) continue;
    others.push_back(series);
    differences.push_back(difference_of(values.at(winner.series), each));
    p.push_back(differences.back().p);
    winner.certain = winner.certain && differences.back().interval.has_value();
  }
  const std::vector<double> corrected = statistics::holm(p);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const bool equal = mean_of(values.at(others[i])) == winner.value;
    if (equal || (differences[i].interval &&
                  statistics::verdict(differences[i], corrected[i]) == statistics::Verdict::tie))
      winner.tied.push_back(others[i]);
  }
  return winner;
}

// Diagonals of a cell, in units of half a square's side, cut at its edges.
std::string hatch(double half_width, double half_height) {
  std::string path;
  const double step = 0.36;
  for (double c = -half_width - half_height + step; c < half_width + half_height; c += step) {
    const double from = std::max(-half_width, c - half_height), to = std::min(half_width, c + half_height);
    path += fmt::format("M{:.3f},{:.3f}L{:.3f},{:.3f}", from, c - from, to, c - to);
  }
  return path;
}

constexpr double kCellWidth = 112, kCellHeight = 40;

Spec winners_spec(const ChartSource& source, const Chart& chart, std::size_t across, std::size_t down) {
  const Grid& grid = source.grid;
  const auto place = [&](std::size_t axis) {
    Spec made = channel(field_of(axis), "ordinal", grid.axes[axis].name);
    made["sort"] = grid.axes[axis].labels;
    made["scale"] = {{"paddingInner", 0.04}, {"paddingOuter", 0}};
    return made;
  };
  Spec x = place(across);
  x["axis"] = {{"labelAngle", 0}, {"labelLimit", kCellWidth - 6}, {"domain", false}, {"ticks", false}};
  const Spec y = place(down);
  Spec spec = framed(chart.description, 0);
  spec.erase("autosize");
  spec["width"] = {{"step", kCellWidth}};
  spec["height"] = {{"step", kCellHeight}};
  spec["params"] = highlight_parameter();
  const double size = kCellHeight * kCellHeight;
  const Spec strength = highlighted(grid, 1);
  Spec colour = series_colour(grid);
  spec["layer"] = {
      {{"params", legend_parameter(grid)},
       {"mark", {{"type", "rect"}, {"cornerRadius", 3}}},
       {"encoding",
        {{"x", x}, {"y", y}, {"color", colour}, {"opacity", strength}, {"tooltip", tooltip(chart.columns)}}}},
      {{"transform", {{{"filter", "datum.tied !== ''"}}}},
       {"mark",
        {{"type", "point"},
         {"shape", hatch(kCellWidth * 0.96 / kCellHeight, 0.96)},
         {"filled", false},
         {"stroke", "var(--paper)"},
         {"strokeWidth", 1.4},
         {"size", size}}},
       {"encoding", {{"x", x}, {"y", y}, {"opacity", strength}}}},
      {{"mark",
        {{"type", "text"},
         {"fontSize", 11},
         {"fontWeight", 600},
         {"lineBreak", "\n"},
         {"dy", -6},
         {"limit", kCellWidth - 8},
         {"color", "var(--paper)"},
         {"stroke", nullptr}}},
       // By name too: beyond eight colours come again.
       {"transform",
        {{{"filter", "datum.tied === ''"}},
         {{"calculate",
           fmt::format("datum['{}'] + '\\n' + format(datum.value, '.3~s')", field_of(*grid.series))},
          {"as", "said"}}}},
       {"encoding", {{"x", x}, {"y", y}, {"text", {{"field", "said"}, {"type", "nominal"}}}}}}};
  return spec;
}

std::string names_of(const GridAxis& axis, const std::vector<std::size_t>& places) {
  std::string text;
  for (const std::size_t place : places) text += (text.empty() ? "" : ", ") + axis.labels[place];
  return text;
}

}  // namespace

MadeChart winners_chart(const ChartSource& source) {
  const Grid& grid = source.grid;
  if (!grid.series) return "No axis of this study has values that could be compared by colour.";
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    if (i != *grid.series) others.push_back(i);
  if (others.size() < 2)
    return fmt::format("It takes two axes beside {}; this study has {}.", grid.axes[*grid.series].name,
                       others.empty() ? "none" : "one");
  const Contest contest = contest_of(source);
  Chart chart{"winners", "Who wins where", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns[*grid.series].title = "best " + grid.axes[*grid.series].name;
  chart.columns.push_back({"value", "best_" + contest.metric, contest.title, contest.unit});
  chart.columns.push_back({"tied", "tied_with", "tied with", ""});
  std::map<std::vector<std::size_t>, std::map<std::size_t, const GridCell*>> places;
  for (const GridCell& cell : grid.cells) {
    std::vector<std::size_t> at = cell.at;
    at[*grid.series] = 0;
    if (!cell.runs.empty()) places[at][cell.at[*grid.series]] = &cell;
  }
  bool certain = true;
  for (const auto& [at, contenders] : places) {
    const std::optional<Winner> winner = winner_of(contenders, contest);
    if (!winner || !winner->arrived) continue;
    certain = certain && winner->certain;
    GridCell best{at, {}};
    best.at[*grid.series] = winner->series;
    std::vector<Cell> row = axis_cells(grid, best);
    row.emplace_back(winner->value);
    row.emplace_back(names_of(grid.axes[*grid.series], winner->tied));
    chart.rows.push_back(std::move(row));
  }
  if (chart.rows.empty()) return fmt::format("No run has {}.", contest.metric);
  const std::size_t across = others[0], down = others[1];
  chart.filters = filters_without(grid, {grid.series, across, down});
  chart.caption = fmt::format(
      "Best by {}{}. {}", contest.title, contest.less_is_better ? " (least)" : " (most)",
      certain ? "Hatched: tied with the second best, the 95 % interval of the difference over the same seeds "
                "(after Holm's correction) holds 0."
              : "One seed: differences have no interval, only equal values are hatched as ties.");
  chart.description = fmt::format("The best {} in each cell of {} and {}; ties are hatched",
                                  grid.axes[*grid.series].name, grid.axes[across].name, grid.axes[down].name);
  chart.spec = winners_spec(source, chart, across, down);
  return chart;
}

}  // namespace simsgd::report

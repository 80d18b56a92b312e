// Who wins where: the best value of the series axis in each cell of two others, and who is tied with it
// (statistics::contest).
#include <fmt/format.h>

#include <algorithm>

#include "analysis/frame/cell.hpp"
#include "analysis/questions/winners.hpp"
#include "analysis/report/charts.hpp"
#include "analysis/report/spec.hpp"

namespace simsgd::report {

namespace {

const char* title_of(const frame::Measure& measure) {
  if (measure.name == "time_to_target_s") return "time to target";
  return measure.name == "throughput_samples_per_s" ? "throughput" : "time of a step";
}

/// Of cells that differ in the series alone.
statistics::Contest contest_among(const ChartSource& source, const std::vector<const GridCell*>& cells,
                                  const frame::Measure& measure) {
  std::vector<std::vector<frame::Sample>> samples;
  for (const GridCell* cell : cells) samples.push_back(frame::samples_of(source.frame, cell->runs, measure));
  return frame::contest(source.frame, measure, samples);
}

// Diagonals of a cell, in units of half a square's side, cut at its edges.
std::string hatch(double half_width, double half_height) {
  std::string path;
  const double step = 0.36, reach = half_width + half_height;
  for (int line = 1; line * step < 2 * reach; ++line) {
    const double c = line * step - reach;
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
    made["sort"] = grid.axes[axis].labels();
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
      {{"transform", {{{"filter", "datum.tied !== '' || datum.undecided !== ''"}}}},
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
        {{{"filter", "datum.tied === '' && datum.undecided === ''"}},
         {{"calculate",
           fmt::format("datum['{}'] + '\\n' + format(datum.value, '.3~s')", field_of(*grid.series))},
          {"as", "said"}}}},
       {"encoding", {{"x", x}, {"y", y}, {"text", {{"field", "said"}, {"type", "nominal"}}}}}}};
  return spec;
}

std::string names_of(const frame::Axis& axis, const std::vector<std::size_t>& places) {
  std::string text;
  for (const std::size_t place : places) text += (text.empty() ? "" : ", ") + axis.values[place].label;
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
  const std::optional<frame::Measure> measure = questions::headline_measure(source.frame);
  if (!measure) return "No run has a time to target, a throughput or a time of a step.";
  Chart chart{"winners", "Who wins where", "", "", axis_columns(grid), {}, {}, {}};
  chart.columns[*grid.series].title = "best " + grid.axes[*grid.series].name;
  chart.columns.push_back({"value", "best_" + measure->name, title_of(*measure), measure->unit});
  chart.columns.push_back({"tied", "tied_with", "tied with", ""});
  chart.columns.push_back({"undecided", "undecided_with", "undecided with", ""});
  chart.columns.push_back({"until", "until_s", "tau", "s"});
  bool certain = true;
  for (const std::vector<const GridCell*>& cells : compared_cells(grid)) {
    const statistics::Contest found = contest_among(source, cells, *measure);
    if (!found.best) continue;
    std::vector<std::size_t> tied, undecided;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const statistics::Verdict verdict = found.verdicts[i];
      if (verdict == statistics::Verdict::tie) tied.push_back(cells[i]->at[*grid.series]);
      if (verdict == statistics::Verdict::undecided) undecided.push_back(cells[i]->at[*grid.series]);
      certain = certain && (i == *found.best || verdict != statistics::Verdict::unknown);
    }
    std::vector<Cell> row = axis_cells(grid, *cells[*found.best]);
    row.insert(row.end(),
               {*found.means[*found.best], names_of(grid.axes[*grid.series], tied),
                names_of(grid.axes[*grid.series], undecided), found.tau ? Cell(*found.tau) : Cell()});
    chart.rows.push_back(std::move(row));
  }
  if (chart.rows.empty())
    return fmt::format("Nowhere are there two values of {} to compare that have {}.",
                       grid.axes[*grid.series].name, measure->name);
  const std::size_t across = others[0], down = others[1];
  chart.filters = filters_without(grid, {grid.series, across, down});
  chart.caption = fmt::format(
      "Best by {}{}. Hatched: tied, where after Holm's correction chance may have made the difference over the same seeds; or undecided, where deterministic runs differ by less than the model is off by.{}{}",
      title_of(*measure), measure->better == Better::less ? " (least)" : " (most)",
      measure->name == "time_to_target_s"
          ? " Times are compared up to tau, the earliest end of a compared cell whose last run did not arrive."
          : "",
      certain ? ""
              : " Where there is one seed differences have no interval, and only equal values are hatched.");
  chart.description = fmt::format("The best {} in each cell of {} and {}; ties are hatched",
                                  grid.axes[*grid.series].name, grid.axes[across].name, grid.axes[down].name);
  chart.spec = winners_spec(source, chart, across, down);
  return chart;
}

}  // namespace simsgd::report

#include <algorithm>
#include <map>

#include "analysis/questions/chart.hpp"

namespace simsgd::questions {

namespace {

// More values than a person chooses from, and no two cells alike: they were drawn.
constexpr std::size_t kMostChoices = 200;
constexpr std::size_t kMostSeries = 24;

bool asked_for(const frame::Axis& axis) {
  return axis.pointer == "/cluster/workers" || axis.pointer == "/algorithm" ||
         axis.pointer == "/algorithm/name";
}

/// Those that readers choose from; what draws at random goes to `averaged`.
std::vector<std::size_t> kept_axes(const frame::Frame& frame, std::vector<std::string>& averaged) {
  const std::vector<frame::Axis>& axes = frame.axes();
  const auto drawn = [&](std::size_t axis) { return axes[axis].values.size() > kMostChoices; };
  std::vector<std::size_t> kept;
  for (const std::size_t axis : frame.varying()) {
    const bool special = asked_for(axes[axis]);
    if (!special && drawn(axis)) {
      averaged.push_back(axes[axis].name);
      continue;
    }
    bool told = false;
    for (const std::size_t other : frame.varying()) {
      if (special || other == axis || drawn(other) || !frame.determines(other, axis)) continue;
      // Of two that determine each other the first stays, or the one that charts ask for.
      told = told || asked_for(axes[other]) || other < axis || !frame.determines(axis, other);
    }
    if (!told) kept.push_back(axis);
  }
  return kept;
}

std::optional<std::size_t> series_axis(const std::vector<frame::Axis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].pointer.starts_with("/algorithm") && axes[i].values.size() <= kMostSeries) return i;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].pointer != "/cluster/workers" && axes[i].values.size() <= kMostSeries) return i;
  return std::nullopt;
}

}  // namespace

Grid make_grid(const frame::Frame& frame) {
  Grid grid;
  const std::vector<std::size_t> kept = kept_axes(frame, grid.averaged);
  for (const std::size_t axis : kept) {
    const std::size_t place = grid.axes.size();
    grid.axes.push_back(frame.axes()[axis]);
    if (grid.axes.back().pointer == "/cluster/workers" && grid.axes.back().is_numeric()) grid.workers = place;
    for (const std::size_t other : frame.varying())
      if (!grid.stragglers && frame.axes()[other].pointer.starts_with("/stragglers") &&
          frame.determines(axis, other))
        grid.stragglers = place;
  }
  grid.series = series_axis(grid.axes);
  for (const frame::Group& group : frame.groups(kept)) {
    grid.cells.push_back({group.at, group.runs()});
    grid.seeds = std::max(grid.seeds, grid.cells.back().runs.size());
  }
  return grid;
}

std::vector<double> values_of(const GridCell& cell, const std::string& metric) {
  std::vector<double> values;
  for (const ResultPoint* run : cell.runs)
    if (const auto found = run->metrics.find(metric); found != run->metrics.end())
      values.push_back(found->second);
  return values;
}

ChartAxis Grid::axis(std::size_t place) const {
  return {"axis_" + std::to_string(place), axes[place].name, axes[place].labels()};
}

bool Grid::has_metric(const std::string& metric) const {
  return std::any_of(cells.begin(), cells.end(),
                     [&](const GridCell& cell) { return !values_of(cell, metric).empty(); });
}

std::vector<std::vector<const GridCell*>> Grid::compared() const {
  std::map<std::vector<std::size_t>, std::vector<const GridCell*>> groups;
  for (const GridCell& cell : cells) {
    std::vector<std::size_t> at = cell.at;
    if (series) at[*series] = 0;
    if (!cell.runs.empty()) groups[at].push_back(&cell);
  }
  std::vector<std::vector<const GridCell*>> all;
  for (auto& each : groups) all.push_back(std::move(each.second));
  return all;
}

std::vector<std::string> Grid::filters_without(const std::vector<std::optional<std::size_t>>& without) const {
  std::vector<std::string> filters;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::find(without.begin(), without.end(), std::optional(i)) == without.end())
      filters.push_back(axis(i).field);
  return filters;
}

std::vector<std::string> Grid::circumstances() const {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].circumstance) fields.push_back(axis(i).field);
  return fields;
}

Chart ChartSource::chart(const std::vector<Column>& columns) const {
  Chart chart{};
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    chart.columns.push_back({grid.axis(i).field, grid.axes[i].name, grid.axes[i].name, ""});
  chart.columns.insert(chart.columns.end(), columns.begin(), columns.end());
  if (grid.series) chart.series = grid.axis(*grid.series);
  chart.filters = grid.filters_without({grid.series});
  return chart;
}

void add_row(Chart& chart, const ChartSource& source, const GridCell& cell, const std::vector<Cell>& values) {
  std::vector<Cell>& row = chart.rows.emplace_back();
  for (std::size_t i = 0; i < cell.at.size(); ++i)
    row.emplace_back(source.grid.axes[i].values[cell.at[i]].label);
  row.insert(row.end(), values.begin(), values.end());
}

std::vector<Cell> with_ends(const std::optional<double>& value,
                            const std::optional<statistics::Interval>& interval) {
  std::vector<Cell> cells(3);
  if (value) cells[0] = *value;
  if (interval) {
    cells[1] = interval->low;
    cells[2] = interval->high;
  }
  return cells;
}

}  // namespace simsgd::questions

#include "analysis/report/grid.hpp"

#include <algorithm>
#include <map>

namespace simsgd::report {

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

bool has_metric(const Grid& grid, const std::string& metric) {
  return std::any_of(grid.cells.begin(), grid.cells.end(), [&](const GridCell& cell) {
    return std::any_of(cell.runs.begin(), cell.runs.end(),
                       [&](const ResultPoint* run) { return run->metrics.contains(metric); });
  });
}

std::vector<std::vector<const GridCell*>> compared_cells(const Grid& grid) {
  std::map<std::vector<std::size_t>, std::vector<const GridCell*>> groups;
  for (const GridCell& cell : grid.cells) {
    std::vector<std::size_t> at = cell.at;
    if (grid.series) at[*grid.series] = 0;
    if (!cell.runs.empty()) groups[at].push_back(&cell);
  }
  std::vector<std::vector<const GridCell*>> all;
  for (auto& each : groups) all.push_back(std::move(each.second));
  return all;
}

std::string field_of(std::size_t axis) { return "axis_" + std::to_string(axis); }

std::vector<Column> axis_columns(const Grid& grid) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    columns.push_back({field_of(i), grid.axes[i].name, grid.axes[i].name, ""});
  return columns;
}

std::vector<Cell> axis_cells(const Grid& grid, const GridCell& cell) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    cells.emplace_back(grid.axes[i].values[cell.at[i]].label);
  return cells;
}

std::vector<std::string> filters_without(const Grid& grid,
                                         const std::vector<std::optional<std::size_t>>& without) {
  std::vector<std::string> filters;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    if (std::find(without.begin(), without.end(), std::optional(i)) == without.end())
      filters.push_back(field_of(i));
  return filters;
}

}  // namespace simsgd::report

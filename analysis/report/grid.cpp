#include "analysis/report/grid.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace simsgd::report {

namespace {

// More values than a person chooses from, and no two cells alike: they were drawn.
constexpr std::size_t kMostChoices = 200;
constexpr std::size_t kMostSeries = 24;

struct RawAxis {
  GridAxis axis;
  std::string pointer;
  std::vector<std::size_t> at;  // of each point
};

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::vector<RawAxis> raw_axes(const ResultStudy& study) {
  std::vector<RawAxis> axes;
  std::map<std::string, std::size_t> place;
  std::vector<std::map<std::string, std::size_t>> labels;
  for (std::size_t p = 0; p < study.points.size(); ++p)
    for (const ResultCoordinate& each : study.points[p].coordinates) {
      const auto [found, fresh] = place.try_emplace(each.pointer + "\n" + each.axis, axes.size());
      if (fresh) {
        axes.push_back({{each.axis, {}, {}, each.pointer.starts_with("/stragglers")},
                        each.pointer,
                        std::vector<std::size_t>(study.points.size(), kNowhere)});
        labels.emplace_back();
      }
      RawAxis& axis = axes[found->second];
      const auto [label, unseen] = labels[found->second].try_emplace(each.label, axis.axis.labels.size());
      if (unseen) {
        axis.axis.labels.push_back(each.label);
        axis.axis.numbers.push_back(each.value.is_number() ? each.value.get<double>() : std::nan(""));
      }
      axis.at[p] = label->second;
    }
  for (RawAxis& axis : axes) {
    // A point without this coordinate has the scenario's own value.
    if (std::find(axis.at.begin(), axis.at.end(), kNowhere) != axis.at.end()) {
      std::replace(axis.at.begin(), axis.at.end(), kNowhere, axis.axis.labels.size());
      axis.axis.labels.push_back("default");
      axis.axis.numbers.push_back(std::nan(""));
    }
    if (std::any_of(axis.axis.numbers.begin(), axis.axis.numbers.end(),
                    [](double x) { return std::isnan(x); }))
      axis.axis.numbers.clear();
  }
  return axes;
}

bool special(const RawAxis& axis) {
  return axis.pointer == "/cluster/workers" || axis.pointer == "/algorithm" ||
         axis.pointer == "/algorithm/name";
}

// Whether the value of `cause` tells that of `effect` at every point.
bool determines(const RawAxis& cause, const RawAxis& effect) {
  std::vector<std::size_t> told(cause.axis.labels.size(), kNowhere);
  for (std::size_t p = 0; p < cause.at.size(); ++p) {
    std::size_t& value = told[cause.at[p]];
    if (value == kNowhere) value = effect.at[p];
    if (value != effect.at[p]) return false;
  }
  return true;
}

std::vector<RawAxis> kept_axes(std::vector<RawAxis> all, std::vector<std::string>& averaged) {
  std::vector<RawAxis> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].axis.labels.size() < 2) continue;
    if (!special(all[i]) && all[i].axis.labels.size() > kMostChoices) {
      averaged.push_back(all[i].axis.name);
      continue;
    }
    bool told = false;
    for (std::size_t j = 0; j < all.size() && !told && !special(all[i]); ++j) {
      if (i == j || all[j].axis.labels.size() > kMostChoices || !determines(all[j], all[i])) continue;
      // Of two that determine each other the first stays, or the one that charts ask for.
      told = special(all[j]) || j < i || !determines(all[i], all[j]);
      if (told) all[j].axis.stragglers |= all[i].axis.stragglers;
    }
    if (!told) kept.push_back(all[i]);
  }
  // What an axis was told of later ones that were zipped with it.
  for (RawAxis& axis : kept)
    for (const RawAxis& each : all)
      if (each.pointer == axis.pointer && each.axis.name == axis.axis.name)
        axis.axis.stragglers = each.axis.stragglers;
  return kept;
}

std::optional<std::size_t> series_axis(const std::vector<RawAxis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].pointer.starts_with("/algorithm") && axes[i].axis.labels.size() <= kMostSeries) return i;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].pointer != "/cluster/workers" && axes[i].axis.labels.size() <= kMostSeries) return i;
  return std::nullopt;
}

}  // namespace

Grid make_grid(const ResultStudy& study) {
  Grid grid;
  const std::vector<RawAxis> axes = kept_axes(raw_axes(study), grid.averaged);
  grid.series = series_axis(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].pointer == "/cluster/workers" && !axes[i].axis.numbers.empty()) grid.workers = i;
    grid.axes.push_back(axes[i].axis);
  }
  // Two axes may have one name; columns may not.
  std::set<std::string> names;
  for (GridAxis& axis : grid.axes)
    while (!names.insert(axis.name).second) axis.name += "'";
  std::map<std::vector<std::size_t>, std::size_t> cells;
  for (std::size_t p = 0; p < study.points.size(); ++p) {
    std::vector<std::size_t> at;
    for (const RawAxis& axis : axes) at.push_back(axis.at[p]);
    const auto [found, fresh] = cells.try_emplace(at, grid.cells.size());
    if (fresh) grid.cells.push_back({at, {}});
    GridCell& cell = grid.cells[found->second];
    if (study.points[p].status == RunStatus::ok) cell.runs.push_back(&study.points[p]);
    grid.seeds = std::max(grid.seeds, cell.runs.size());
  }
  for (GridCell& cell : grid.cells)
    std::stable_sort(cell.runs.begin(), cell.runs.end(),
                     [](const ResultPoint* a, const ResultPoint* b) { return a->seed < b->seed; });
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

std::string field_of(std::size_t axis) { return "axis_" + std::to_string(axis); }

std::vector<Column> axis_columns(const Grid& grid) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    columns.push_back({field_of(i), grid.axes[i].name, grid.axes[i].name, ""});
  return columns;
}

std::vector<Cell> axis_cells(const Grid& grid, const GridCell& cell) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) cells.emplace_back(grid.axes[i].labels[cell.at[i]]);
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

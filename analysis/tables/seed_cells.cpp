#include "analysis/tables/seed_cells.hpp"

#include <algorithm>

#include "analysis/tables/exactness.hpp"

namespace simsgd::tables {

namespace {

/// Of cells that are compared: one tau, what each says up to there, and which is best.
void settle(const Grid& grid, const std::vector<TableCell*>& group, const Measure& measure,
            const CellQuestion& question, Cells& cells) {
  const ScenarioOf scenario_of = scenarios_of(grid.selection());
  std::vector<statistics::Runs> runs;
  for (const TableCell* cell : group) runs.push_back(runs_of(cell->samples));
  const std::optional<double> tau = statistics::common_tau(runs);
  std::vector<std::optional<double>> shown;
  for (TableCell* cell : group) {
    cell->summary =
        summarise(cell->samples, question, tau, is_deterministic(scenario_of, points_of(cell->samples)));
    shown.push_back(cell->summary.value);
  }
  const auto model_error = [&](std::size_t one, std::size_t other) {
    return off_by(scenario_of, measure.name, points_of(group[one]->samples),
                  points_of(group[other]->samples));
  };
  const bool median = question.statistic == CellQuestion::Statistic::median;
  const statistics::Contest contest = statistics::contest(
      runs, measure.better, model_error, median ? shown : std::vector<std::optional<double>>());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (contest.best == i) group[i]->mark = TableCell::Mark::best;
    if (contest.verdicts[i] == statistics::Verdict::tie) group[i]->mark = TableCell::Mark::tie;
    if (contest.verdicts[i] == statistics::Verdict::undecided) group[i]->mark = TableCell::Mark::undecided;
    if (group[i]->summary.until && std::find(cells.taus.begin(), cells.taus.end(), *tau) == cells.taus.end())
      cells.taus.push_back(*tau);
  }
}

void settle_all(const Grid& grid, const CellQuestion& question, Cells& cells) {
  if (cells.columns.size() > 1) {
    for (std::vector<TableCell>& row : cells.cells) {
      std::vector<TableCell*> group;
      for (TableCell& cell : row) group.push_back(&cell);
      settle(grid, group, cells.measures.front(), question, cells);
    }
    return;
  }
  for (std::size_t column = 0; column < cells.width(); ++column) {
    std::vector<TableCell*> group;
    for (std::vector<TableCell>& row : cells.cells) group.push_back(&row[column]);
    settle(grid, group, cells.measure(column), question, cells);
  }
}

}  // namespace

Cells cells_of(const Grid& grid, std::size_t row_axes, std::vector<Measure> measures,
               const CellQuestion& question) {
  Cells cells;
  cells.measures = std::move(measures);
  const auto add_once = [](std::vector<Place>& places, Place place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
  };
  const auto middle = static_cast<std::ptrdiff_t>(row_axes);
  for (const Place& place : grid.places()) {
    add_once(cells.rows, Place(place.begin(), place.begin() + middle));
    add_once(cells.columns, Place(place.begin() + middle, place.end()));
  }
  for (const Place& row : cells.rows) {
    cells.cells.emplace_back();
    for (std::size_t column = 0; column < cells.width(); ++column) {
      Place place = row;
      place.insert(place.end(), cells.place(column).begin(), cells.place(column).end());
      cells.cells.back().push_back({grid.has(place), grid.samples(place, cells.measure(column)), {}, {}});
    }
  }
  settle_all(grid, question, cells);
  return cells;
}

}  // namespace simsgd::tables

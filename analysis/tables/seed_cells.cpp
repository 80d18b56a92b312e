#include "analysis/tables/seed_cells.hpp"

#include <algorithm>

namespace simsgd::tables {

namespace {

/// Of each group of cells the best, and its ties.
void mark_best(const std::vector<TableCell*>& group, Better better) {
  TableCell* best = nullptr;
  std::size_t known = 0;
  for (TableCell* cell : group) {
    if (!cell->summary.value) continue;
    ++known;
    const bool wins =
        best == nullptr || (better == Better::less ? *cell->summary.value < *best->summary.value
                                                   : *cell->summary.value > *best->summary.value);
    if (wins) best = cell;
  }
  if (best == nullptr || better == Better::neither || known < 2) return;
  best->mark = " *";
  std::vector<std::pair<TableCell*, statistics::Difference>> compared;
  std::vector<double> p;
  for (TableCell* cell : group) {
    if (cell == best || cell->summary.count() == 0) continue;
    const CellComparison comparison = compare_cells(best->samples, cell->samples, better);
    if (!comparison.difference || !comparison.difference->interval) continue;
    compared.emplace_back(cell, *comparison.difference);
    p.push_back(comparison.difference->p);
  }
  const std::vector<double> corrected = statistics::holm(p);
  for (std::size_t i = 0; i < compared.size(); ++i)
    if (statistics::verdict(compared[i].second, corrected[i]) == statistics::Verdict::tie)
      compared[i].first->mark = " =";
}

void mark_ties(Cells& cells) {
  const auto mark = [&](const std::vector<TableCell*>& group, Better better) { mark_best(group, better); };
  if (cells.columns.size() > 1) {
    for (std::vector<TableCell>& row : cells.cells) {
      std::vector<TableCell*> group;
      for (TableCell& cell : row) group.push_back(&cell);
      mark(group, cells.measures.front().better);
    }
    return;
  }
  for (std::size_t column = 0; column < cells.width(); ++column) {
    std::vector<TableCell*> group;
    for (std::vector<TableCell>& row : cells.cells) group.push_back(&row[column]);
    mark(group, cells.measure(column).better);
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
      TableCell cell{grid.has(place), grid.samples(place, cells.measure(column)), {}, ""};
      cell.summary = summarise(cell.samples, question);
      cells.cells.back().push_back(std::move(cell));
    }
  }
  mark_ties(cells);
  return cells;
}

}  // namespace simsgd::tables

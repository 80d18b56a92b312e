#include "analysis/book/book_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/book/book_text.hpp"

namespace simsgd::book {

namespace {

// Of a set with more cells every n-th is drawn.
constexpr std::size_t kMostDots = 150;
// Axis of the chart: what is further off stands at its ends.
constexpr double kLeast = 0.5, kMost = 2.0;

std::string kind_of(const SetSpec& set) {
  if (set.seen == "explored") return "explored";
  return set.seen == "blind" ? "blind" : "not fitted";
}

void add_cells(const JudgedSet& set, questions::Chart& chart) {
  const std::size_t every = (set.cells.size() + kMostDots - 1) / kMostDots;
  for (std::size_t i = 0; i < set.cells.size(); i += every) {
    const Cell& cell = set.cells[i];
    const double ratio = cell.predicted / cell.measured;
    chart.rows.push_back({key_of(set.set), kind_of(set.set), cell.name, cell.measured, cell.predicted, ratio,
                          std::clamp(ratio, kLeast, kMost)});
  }
}

}  // namespace

questions::Report book_report(const JudgedBook& judged, const std::string& command) {
  questions::Report made;
  made.store = judged.book.name;
  made.command = command;
  questions::StudyReport study;
  study.name = judged.book.name;
  study.file = judged.book.file;
  study.points = judged.sets.size();
  questions::Chart chart;
  chart.name = "cells";
  chart.title = "Predicted over measured";
  chart.columns = {{"set", "set", "set", ""},
                   {"kind", "kind", "cells", ""},
                   {"cell", "cell", "cell", ""},
                   {"measured", "measured", "measured (SI)", "1"},
                   {"predicted", "predicted", "predicted (SI)", "1"},
                   {"ratio", "ratio", "predicted / measured", "1"},
                   {"shown", "shown", "where it is drawn", "1"}};
  std::vector<std::string> sets;
  for (const JudgedSet& set : judged.sets) {
    if (set.cells.empty()) {
      study.left_out.push_back({set.set.name, key_of(set.set), set.skipped});
      continue;
    }
    ++study.done;
    sets.push_back(key_of(set.set));
    add_cells(set, chart);
  }
  chart.caption = fmt::format(
      "Each dot is a measured time or throughput that the prediction had not been fitted to; 1: as measured. What is further off than a factor of {:g} stands at the end. Of sets with more than {} cells every n-th is drawn.",
      kMost, kMostDots);
  chart.description = "Predicted over measured values, a row of dots for each set of public measurements";
  chart.marks.kind = questions::Marks::Kind::ratios;
  chart.marks.x = {"shown", "predicted / measured"};
  chart.marks.x.ticks = {kLeast, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, kMost};
  chart.marks.y.axis = {"set", "", sets};
  chart.marks.told = {"kind", "cells", {"not fitted", "blind", "explored"}};
  study.headline = book_table(judged);
  if (chart.rows.empty())
    study.left_out.push_back({chart.name, chart.title, "No measurements are at hand: see --data."});
  else
    study.charts.push_back(std::move(chart));
  made.studies.push_back(std::move(study));
  return made;
}

}  // namespace simsgd::book

#include "analysis/book/book_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/book/book_text.hpp"
#include "analysis/report/spec.hpp"

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

void add_cells(const JudgedSet& set, report::Chart& chart) {
  const std::size_t every = (set.cells.size() + kMostDots - 1) / kMostDots;
  for (std::size_t i = 0; i < set.cells.size(); i += every) {
    const Cell& cell = set.cells[i];
    const double ratio = cell.predicted / cell.measured;
    chart.rows.push_back({key_of(set.set), kind_of(set.set), cell.name, cell.measured, cell.predicted, ratio,
                          std::clamp(ratio, kLeast, kMost)});
  }
}

report::Spec dots_spec(const report::Chart& chart, const std::vector<std::string>& sets) {
  report::Spec x = report::channel("shown", "quantitative", "predicted / measured");
  x["scale"] = {{"type", "log"}, {"domain", {kLeast, kMost}}, {"nice", false}};
  x["axis"] = {{"values", {0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0}}, {"format", ".3~g"}};
  report::Spec y = report::channel("set", "nominal", "");
  y["sort"] = sets;
  y["axis"] = {{"title", nullptr}, {"labelLimit", 560}};
  constexpr double kRow = 17;
  report::Spec spec =
      report::framed(chart.description, kRow * static_cast<double>(std::max<std::size_t>(4, sets.size())));
  spec["params"] = report::highlight_parameter();
  spec["layer"] = {{{"data", {{"values", {{{"x", 1}}}}}},
                    {"mark", {{"type", "rule"}, {"strokeDash", {5, 4}}, {"color", "var(--muted)"}}},
                    {"encoding", {{"x", {{"field", "x"}, {"type", "quantitative"}}}}}},
                   {{"params", report::picked_in_legend("kind")},
                    {"mark", {{"type", "point"}, {"filled", true}, {"size", 28}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"color", report::colour_of("kind", "cells", {"not fitted", "blind", "explored"})},
                      {"opacity", {{"condition", {{"param", "picked"}, {"value", 0.55}}}, {"value", 0.06}}},
                      {"tooltip", report::tooltip(chart.columns)}}}}};
  return spec;
}

}  // namespace

report::Report book_report(const JudgedBook& judged, const std::string& command) {
  report::Report made;
  made.store = judged.book.name;
  made.command = command;
  report::StudyReport study;
  study.name = judged.book.name;
  study.file = judged.book.file;
  study.points = judged.sets.size();
  report::Chart chart{"cells", "Predicted over measured", "", "", {}, {}, {}, {}};
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
  chart.spec = dots_spec(chart, sets);
  study.headline = book_table(judged);
  if (chart.rows.empty())
    study.left_out.push_back({chart.name, chart.title, "No measurements are at hand: see --data."});
  else
    study.charts.push_back(std::move(chart));
  made.studies.push_back(std::move(study));
  return made;
}

}  // namespace simsgd::book

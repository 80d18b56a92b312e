#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/book/book.hpp"
#include "analysis/faces/table.hpp"

namespace simsgd::book {

namespace {

constexpr std::size_t kWorstShown = 10;

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, std::fabs(share) < 0.0995 ? 1 : 0);
}
std::string signed_percent(double share) {
  return fmt::format("{:+.{}f} %", 100 * share, std::fabs(share) < 0.0995 ? 1 : 0);
}
std::string held(const Line& line, double level) {
  const Coverage* const coverage = line.at(level);
  if (coverage == nullptr) return "";
  const auto plain = static_cast<double>(coverage->inside) / static_cast<double>(coverage->told);
  return fmt::format("{} of {}", coverage->inside, coverage->told) +
         (std::fabs(coverage->share - plain) < 0.005
              ? ""
              : fmt::format(" ({} by octave)", percent(coverage->share)));
}
std::string width(const Line& line, double level) {
  const Coverage* const coverage = line.at(level);
  return coverage == nullptr ? "" : percent(coverage->width);
}

const Line* line_of_set(const JudgedBook& judged, const SetSpec& set) {
  const auto found = judged.lines.find(key_of(set));
  return found == judged.lines.end() ? nullptr : &found->second;
}

std::string how_seen(const SetSpec& set) {
  return set.seen == "left out" ? (set.test.empty() ? "left out in turn" : "not fitted") : set.seen;
}

std::vector<std::string> row_of(const SetSpec& set, const Line* line) {
  std::vector<std::string> row{set.measured_on, set.name, how_seen(set)};
  if (line == nullptr) {
    row.emplace_back("not judged yet");
    return row;
  }
  for (const std::string& cell :
       {std::to_string(line->cells), percent(line->mean), percent(line->median), percent(line->worst),
        signed_percent(line->bias), held(*line, 0.5), held(*line, 0.9), width(*line, 0.9),
        line->noise ? percent(*line->noise) : std::string(), line->date})
    row.push_back(cell);
  return row;
}

/// Of some sets together; each counts the same in means.
struct Overall {
  std::size_t sets = 0, cells = 0;
  std::vector<double> means;
  std::vector<Coverage> coverage;         ///< of kIntervalLevels
  std::vector<std::vector<double>> held;  ///< at each level, of each set with intervals: the share inside
  std::vector<double> half_widths;        ///< at 90 %, over the mean error

  void add(const Line& line) {
    ++sets;
    cells += line.cells;
    means.push_back(line.mean);
    coverage.resize(kIntervalLevels.size());
    held.resize(kIntervalLevels.size());
    for (std::size_t i = 0; i < kIntervalLevels.size(); ++i)
      if (const Coverage* const one = line.at(kIntervalLevels[i])) {
        coverage[i].inside += one->inside;
        coverage[i].told += one->told;
        held[i].push_back(one->share);
      }
    if (const Coverage* const one = line.at(0.9); one != nullptr && line.mean > 0)
      half_widths.push_back(one->width / 2 / line.mean);
  }
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) sum += each;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string held_of(const Coverage& all) {
  return all.told == 0
             ? ""
             : fmt::format("{} of {} ({})", all.inside, all.told,
                           percent(static_cast<double>(all.inside) / static_cast<double>(all.told)));
}

/// In some sentences, of all sets but the explored ones; "" where nothing was judged yet.
std::string in_short(const JudgedBook& judged) {
  Overall all;
  for (const JudgedSet& each : judged.sets)
    if (const Line* line = line_of_set(judged, each.set); line != nullptr && each.set.seen != "explored")
      all.add(*line);
  if (all.sets == 0) return "";
  std::string text = fmt::format(
      "We predicted {} public measurements in {} sets without fitting to any of them. Predictions are {} off, averaged over sets ({} in the median set).",
      all.cells, all.sets, percent(mean_of(all.means)), percent(median_of(all.means)));
  for (std::size_t i = kIntervalLevels.size(); i-- > 0;)
    if (all.coverage[i].told > 0)
      text += fmt::format(" Intervals of {:g} % hold {}; averaged over sets, {}.", 100 * kIntervalLevels[i],
                          held_of(all.coverage[i]), percent(mean_of(all.held[i])));
  text +=
      " In tables of message sizes each octave counts the same, because half of such a table's rows lie in its last octave.";
  if (!all.half_widths.empty())
    text += fmt::format(
        " In the median set an interval of 90 % reaches {:.1f} times the mean error to either side; for normal errors of known size it would be 2.1.",
        median_of(all.half_widths));
  return text;
}

struct Worst {
  const SetSpec* set = nullptr;
  WorstCell cell;
};

/// The cells that are furthest off, on a logarithmic scale; two of a set at most, as neighbours tell the
/// same.
std::vector<Worst> worst_cells(const JudgedBook& judged) {
  constexpr std::size_t kOfASet = 2;
  std::vector<Worst> all;
  for (const JudgedSet& each : judged.sets)
    if (const Line* line = line_of_set(judged, each.set))
      for (std::size_t i = 0; i < std::min(kOfASet, line->worst_cells.size()); ++i)
        all.push_back({&each.set, line->worst_cells[i]});
  const auto size = [](const Worst& each) { return std::fabs(std::log1p(each.cell.error)); };
  std::ranges::stable_sort(all, [&](const Worst& a, const Worst& b) { return size(a) > size(b); });
  all.resize(std::min(all.size(), kWorstShown));
  return all;
}

const std::vector<std::string> kHeader{
    "measured on", "predicted",   "cells seen",  "cells",         "mean error", "median", "worst",
    "bias",        "inside 50 %", "inside 90 %", "width of 90 %", "noise",      "judged"};

/// For README: one line a set, the columns that tell most.
std::string short_table(const JudgedBook& judged) {
  std::string text =
      markdown::heading({"measured on", "predicted", "cells", "mean error", "inside 90 %", "width"});
  std::string machine;
  for (const JudgedSet& each : judged.sets) {
    const Line* const line = line_of_set(judged, each.set);
    if (line == nullptr) continue;
    const bool same = machine == each.set.measured_on;
    machine = each.set.measured_on;
    text += markdown::row_text({same ? "the same" : machine, each.set.name, std::to_string(line->cells),
                                percent(line->mean), held(*line, 0.9), width(*line, 0.9)});
  }
  return text;
}

Table book_table(const JudgedBook& judged) {
  Table table;
  table.title = in_short(judged);
  table.header = kHeader;
  table.align = "lll";
  for (const JudgedSet& each : judged.sets) {
    std::vector<std::string> row = row_of(each.set, line_of_set(judged, each.set));
    row.resize(kHeader.size());
    table.rows.push_back(std::move(row));
  }
  for (const JudgedSet& each : judged.sets)
    if (!each.skipped.empty()) table.notes.push_back(key_of(each.set) + ": " + each.skipped);
  return table;
}

}  // namespace

std::string book_text(const JudgedBook& judged) {
  Table table = book_table(judged);
  std::vector<std::string> notes;
  notes.swap(table.notes);
  std::string text = formatted(table, TableFormat::text) + "\nFurthest off:\n";
  for (const Worst& each : worst_cells(judged))
    text +=
        fmt::format("  {:>7}  {}: {}\n", signed_percent(each.cell.error), key_of(*each.set), each.cell.name);
  for (const std::string& note : notes) text += "Note: " + note + "\n";
  return text;
}

std::string book_by_machine(const JudgedBook& judged) {
  std::string text = in_short(judged) + "\n" +
                     markdown::heading({"measured on", "cells", "mean error", "inside 50 %", "inside 90 %"});
  for (std::size_t first = 0; first < judged.sets.size();) {
    const std::string& machine = judged.sets[first].set.measured_on;
    Overall all, explored;
    std::size_t end = first;
    for (; end < judged.sets.size() && judged.sets[end].set.measured_on == machine; ++end)
      if (const Line* line = line_of_set(judged, judged.sets[end].set))
        (judged.sets[end].set.seen == "explored" ? explored : all).add(*line);
    first = end;
    const Overall& told = all.sets > 0 ? all : explored;
    if (told.sets > 0)
      text += markdown::row_text({machine + (all.sets > 0 ? "" : " \\*"), std::to_string(told.cells),
                                  percent(mean_of(told.means)), held_of(told.coverage[0]),
                                  held_of(told.coverage[1])});
  }
  return text + "\n\\* The model was chosen with these cells in sight.\n";
}

std::string book_markdown(const JudgedBook& judged, const std::string& command) {
  std::string text = fmt::format(
      "# How far off: every public measurement\n\nHow far off are predictions of every public measurement that we have? `{}` wrote this page. [calibration.md](calibration.md) explains fits, left-out parts and intervals.\n\n## In short\n\n{}\n\n"
      "<picture>\n  <source media=\"(prefers-color-scheme: dark)\" srcset=\"figures/accuracy-dark-cells.svg\">\n  <img alt=\"Predicted over measured values, a row of dots for each set of public measurements\" src=\"figures/accuracy-cells.svg\">\n</picture>\n",
      command, in_short(judged));
  text += short_table(judged);
  text +=
      "\n## Each set\n\n*Left out in turn*: predicted by a fit to everything else; the model was made with all cells in sight. *Not fitted*: in a part that the fit "
      "had not seen. *Blind*: nobody had looked at these cells. *Explored*: structure or settings were chosen with them. *Inside*: cells within the interval of their prediction; of parts that are "
      "left out it is fixed by the errors of the other parts. *Noise*: of a single measurement, if some are repeated. A set whose measurements are not available keeps its last line.\n";
  text += markdown::heading(kHeader);
  for (const JudgedSet& each : judged.sets) {
    std::vector<std::string> row = row_of(each.set, line_of_set(judged, each.set));
    row.resize(kHeader.size());
    row[1] += fmt::format(" ([spec](../scenarios/{}))", each.set.spec);
    text += markdown::row_text(row);
  }
  text += "\n## Furthest off\n\nAt most two cells of each set.\n";
  text += markdown::heading({"error", "cell", "cause"});
  for (const Worst& each : worst_cells(judged))
    text += markdown::row_text({signed_percent(each.cell.error), key_of(*each.set) + ": " + each.cell.name,
                                each.set->cause.empty() ? "not known" : each.set->cause});
  return text;
}

nlohmann::ordered_json book_json(const JudgedBook& judged) {
  nlohmann::ordered_json sets = nlohmann::ordered_json::array();
  const nlohmann::ordered_json lines = lines_json(judged.lines);
  for (const JudgedSet& each : judged.sets) {
    nlohmann::ordered_json one = {{"name", each.set.name},
                                  {"measured_on", each.set.measured_on},
                                  {"spec", each.set.spec},
                                  {"seen", each.set.seen},
                                  {"judged_now", each.skipped.empty()}};
    if (!each.skipped.empty()) one["skipped"] = each.skipped;
    if (const auto found = lines.find(key_of(each.set)); found != lines.end()) one["line"] = *found;
    one["cells"] = nlohmann::ordered_json::array();
    for (const Cell& cell : each.cells) {
      nlohmann::ordered_json shown = {
          {"name", cell.name}, {"measured", cell.measured}, {"predicted", cell.predicted}};
      for (const Interval& interval : cell.intervals)
        shown["intervals"].push_back(
            {{"level", interval.level}, {"low", interval.low}, {"high", interval.high}});
      one["cells"].push_back(std::move(shown));
    }
    sets.push_back(std::move(one));
  }
  return {{"book", judged.book.name}, {"sets", std::move(sets)}};
}

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
    study.left_out.push_back(
        {chart.name, chart.title, "No measurements were found: name their directory with --data."});
  else
    study.charts.push_back(std::move(chart));
  made.studies.push_back(std::move(study));
  return made;
}

}  // namespace simsgd::book

#include "analysis/questions/study_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>

#include "analysis/questions/tables.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::questions {

namespace {

constexpr std::size_t kMostErrors = 5;

std::optional<Table> headline_of(const frame::Frame& frame) {
  const auto chosen = [&](std::size_t axis) { return !frame.axes()[axis].circumstance; };
  const std::vector<std::size_t> varying = frame.varying();
  if (std::none_of(varying.begin(), varying.end(), chosen) || !headline_measure(frame)) return std::nullopt;
  Table table = winners_table(frame, {}, {});
  if (table.rows.empty()) return std::nullopt;
  return table;
}

/// What runs say, each sentence once, with how many say it.
std::vector<std::string> notes_of(const frame::Frame& frame, std::size_t done) {
  std::map<std::string, std::size_t> counts;
  std::vector<std::string> order;
  const auto said = frame.details().notes();
  for (const ResultPoint* point : frame.rows())
    if (const auto found = said.find(point->key); point->status == RunStatus::ok && found != said.end())
      for (const std::string& note : found->second)
        if (++counts[note] == 1) order.push_back(note);
  for (std::string& note : order)
    note = counts[note] == done ? fmt::format("Every run says: {}", note)
                                : fmt::format("{} of {} runs say: {}", counts[note], done, note);
  return order;
}

StudyReport report_of(const frame::Frame& frame, const std::vector<std::string>& charts) {
  const ResultStudy& study = frame.study();
  const Grid grid = make_grid(frame);
  StudyReport made{study.name, study.file, study.points.size(), 0, 0, grid.seeds, {}, {}, {}, {}, {}, "",
                   {},         study.id};
  for (std::size_t i = 0; i < grid.axes.size(); ++i) made.axes.push_back(grid.axis(i));
  if (grid.series) made.series = made.axes[*grid.series].field;
  for (const ResultPoint& point : study.points) {
    if (point.status == RunStatus::ok) ++made.done;
    if (!point.status || point.status == RunStatus::ok) continue;
    if (++made.failed <= kMostErrors) made.errors.push_back(point.label + ": " + point.error);
  }
  if (made.done > 0 && grid.averaged.empty()) made.headline = headline_of(frame);
  for (const std::string& axis : grid.averaged)
    made.notes.push_back(
        fmt::format("{} has too many values to choose from: charts average over it, as over seeds.", axis));
  for (std::string& note : notes_of(frame, made.done)) made.notes.push_back(std::move(note));
  for (const ChartKind& kind : chart_kinds()) {
    if (!charts.empty() && std::find(charts.begin(), charts.end(), kind.name) == charts.end()) continue;
    MadeChart chart =
        made.done == 0 ? MadeChart("No run of this study has a result.") : kind.make({frame, grid});
    if (const std::string* why = std::get_if<std::string>(&chart)) {
      made.left_out.push_back({kind.name, kind.title, *why});
    } else {
      made.charts.push_back(std::get<Chart>(std::move(chart)));
      made.charts.back().name = kind.name;
      made.charts.back().title = kind.title;
    }
  }
  return made;
}

std::string quoted(const std::string& argument) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-/", c);
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) return argument;
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

const std::vector<ChartKind>& chart_kinds() {
  static const std::vector<ChartKind> kinds = {
      {"target", "Time to target", "Mean time to the target; runs that miss it are censored", target_chart},
      {"pareto", "Cost against time", "Every choice's cost and time, and the front that none beats",
       pareto_chart},
      {"throughput", "Throughput", "Samples per second", throughput_chart},
      {"speedup", "Speed-up", "Throughput over one device's, against workers", speedup_chart},
      {"efficiency", "Efficiency", "Throughput per worker over one device's, against workers",
       efficiency_chart},
      {"cost", "Cost of a run", "USD, where devices have a price", cost_chart},
      {"energy", "Energy of a run", "Where devices have a power", energy_chart},
      {"winners", "Who wins where", "The best of the algorithms over two axes, ties hatched", winners_chart},
      {"breakdown", "Where the time of a step goes", "Parts of a step, stacked", breakdown_chart},
      {"step_times", "Step times under each straggler", "Quantiles of step times as boxes", step_times_chart},
      {"loss", "Training loss", "Against simulated time", loss_chart},
      {"accuracy", "Test accuracy", "Against simulated time", accuracy_chart},
      {"measured", "Measured against simulated", "Where scenarios carry expected values", measured_chart},
      {"links", "Busiest links", "By name, of one run of each cell", links_chart}};
  return kinds;
}

std::vector<std::string> chart_names() {
  std::vector<std::string> names;
  for (const ChartKind& kind : chart_kinds()) names.emplace_back(kind.name);
  return names;
}

Report make_report(const std::vector<ResultStudy>& studies, const frame::RunDetails& details,
                   const std::string& store, const std::vector<std::string>& charts) {
  const std::vector<std::string> names = chart_names();
  std::vector<InputError> errors;
  for (const std::string& chart : charts)
    if (std::find(names.begin(), names.end(), chart) == names.end()) {
      const std::string near = nearest(chart, names);
      errors.push_back({"--chart", "", "is not a chart", chart,
                        (near.empty() ? "" : "Did you mean " + near + "? ") + "Write " + one_of(names)});
    }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  Report report{store, {}};
  for (const ResultStudy& study : studies) report.studies.push_back(report_of({study, details}, charts));
  return report;
}

std::string command_of(const Report& report, const Chart& chart) {
  if (!report.command.empty()) return report.command;
  return fmt::format("simsgd report {} --chart {} --figures figures", quoted(report.store), chart.name);
}

std::vector<std::vector<Cell>> rows_shown_first(const Chart& chart) {
  std::vector<std::pair<std::size_t, Cell>> wanted;
  for (const std::string& filter : chart.filters)
    for (std::size_t c = 0; c < chart.columns.size(); ++c)
      if (chart.columns[c].field == filter && !chart.rows.empty())
        wanted.emplace_back(c, chart.rows.front()[c]);
  std::vector<std::vector<Cell>> rows;
  for (const std::vector<Cell>& row : chart.rows)
    if (std::all_of(wanted.begin(), wanted.end(),
                    [&](const auto& each) { return row[each.first] == each.second; }))
      rows.push_back(row);
  return rows;
}

}  // namespace simsgd::questions

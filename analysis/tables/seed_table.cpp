#include "analysis/tables/seed_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/tables/grid.hpp"
#include "analysis/tables/missing.hpp"
#include "analysis/tables/numbers.hpp"
#include "analysis/tables/seed_cells.hpp"

namespace simsgd::tables {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kDeterministic = "deterministic";

/// Of all that are shown with this measure.
CommonUnit unit_of(const Cells& cells, const Measure& measure) {
  std::vector<double> values;
  for (const std::vector<TableCell>& row : cells.cells)
    for (std::size_t column = 0; column < row.size(); ++column)
      if (&cells.measure(column) == &measure) {
        const CellSummary& summary = row[column].summary;
        if (summary.value) values.push_back(*summary.value);
        if (summary.above_seen()) values.push_back(summary.seen_until);
      }
  return unit_for(measure.unit, values);
}

/// `marked`: whether any cell of the column has one.
const char* mark_name(TableCell::Mark mark) {
  const char* const names[] = {"", "best", "tie", "undecided"};
  return names[static_cast<std::size_t>(mark)];
}

/// `marked`: whether any cell of the column has one.
const char* mark_text(TableCell::Mark mark, bool marked) {
  switch (mark) {
    case TableCell::Mark::best:
      return " *";
    case TableCell::Mark::tie:
      return " =";
    case TableCell::Mark::undecided:
      return " ~";
    case TableCell::Mark::none:
      break;
  }
  return marked ? "  " : "";
}

/// `marked`: whether any cell of the column has a mark, for which the others leave room.
std::string cell_text(const TableCell& cell, const CommonUnit& unit, std::size_t usual_count, bool marked,
                      bool tell_deterministic) {
  if (!cell.there) return "";
  const CellSummary& summary = cell.summary;
  std::vector<std::string> remarks;
  if (summary.arrived < summary.count())
    remarks.push_back(fmt::format("{} of {} arrive", summary.arrived, summary.count()));
  else if (summary.count() != usual_count && summary.count() > 0)
    remarks.push_back(fmt::format("n = {}", summary.count()));
  if (summary.failed > 0 && summary.count() > 0) remarks.push_back(fmt::format("{} failed", summary.failed));
  if (tell_deterministic && summary.method == kDeterministic) remarks.emplace_back(kDeterministic);
  return shown_cell(summary, unit) + (remarks.empty() ? "" : fmt::format(" ({})", fmt::join(remarks, ", "))) +
         mark_text(cell.mark, marked);
}

void fill_shown(const Cells& cells, const Grid& grid, std::size_t row_axes, const std::string& statistic,
                ResultTable& table) {
  std::vector<CommonUnit> units;
  std::size_t usual_count = 0;
  for (const Measure& measure : cells.measures) units.push_back(unit_of(cells, measure));
  for (const auto& row : cells.cells)
    for (const TableCell& cell : row) usual_count = std::max(usual_count, cell.summary.count());
  const auto unit = [&](std::size_t column) { return units[column % units.size()]; };
  const auto is_marked = [&](std::size_t column) {
    return std::any_of(cells.cells.begin(), cells.cells.end(),
                       [column](const auto& row) { return row[column].mark != TableCell::Mark::none; });
  };
  const bool fixed = std::all_of(cells.cells.begin(), cells.cells.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(), [](const TableCell& cell) {
      return !cell.there || cell.summary.method == kDeterministic || cell.summary.count() == 0;
    });
  });
  table.left = row_axes;
  table.header.assign(grid.axes().begin(), grid.axes().begin() + static_cast<std::ptrdiff_t>(row_axes));
  for (std::size_t column = 0; column < cells.width(); ++column) {
    const std::string label = fmt::format("{}", fmt::join(cells.place(column), ", "));
    table.header.push_back(label.empty() ? cells.measure(column).name + in_brackets(unit(column)) : label);
  }
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    table.rows.push_back(cells.rows[row]);
    for (std::size_t column = 0; column < cells.width(); ++column)
      table.rows.back().push_back(
          cell_text(cells.cells[row][column], unit(column), usual_count, is_marked(column), !fixed));
  }
  table.title += fixed             ? "deterministic, nothing in these runs is drawn"
                 : usual_count > 1 ? fmt::format("{} over {} seeds", statistic, usual_count)
                                   : "one run each, so no interval";
  if (cells.columns.size() > 1)
    table.title = cells.measures.front().name + in_brackets(units.front()) + " of " + table.title;
}

void fill_records(const Cells& cells, const Grid& grid, ResultTable& table) {
  table.fields = grid.axes();
  for (const char* field : {"metric", "unit", "statistic", "value", "low", "high", "method", "n", "censored",
                            "until", "no_value", "failed", "not_run", "mark"})
    table.fields.emplace_back(field);
  for (std::size_t row = 0; row < cells.rows.size(); ++row)
    for (std::size_t column = 0; column < cells.width(); ++column) {
      const TableCell& cell = cells.cells[row][column];
      if (!cell.there) continue;
      Place place = cells.rows[row];
      place.insert(place.end(), cells.place(column).begin(), cells.place(column).end());
      const CellSummary& summary = cell.summary;
      std::vector<OrderedJson> record = grid.values(place);
      const auto end = [&](double statistics::Interval::*side) {
        return finite_or_null(summary.interval ? std::optional((*summary.interval).*side) : std::nullopt);
      };
      const Measure& measure = cells.measure(column);
      const std::vector<OrderedJson> rest = {
          measure.name,
          measure.unit,
          summary.statistic,
          finite_or_null(summary.value),
          end(&statistics::Interval::low),
          end(&statistics::Interval::high),
          summary.method,
          summary.count(),
          summary.censored,
          summary.until ? OrderedJson(*summary.until) : OrderedJson(nullptr),
          summary.none,
          summary.failed,
          summary.not_run,
          mark_name(cell.mark)};
      record.insert(record.end(), rest.begin(), rest.end());
      table.records.push_back(std::move(record));
    }
}

/// Below the table: up to where times are compared.
std::string note_on_tau(const Cells& cells) {
  const auto timed = std::find_if(cells.measures.begin(), cells.measures.end(),
                                  [](const Measure& measure) { return measure.name == "time_to_target_s"; });
  const CommonUnit unit = unit_of(cells, timed == cells.measures.end() ? cells.measures.front() : *timed);
  std::vector<std::string> taus;
  for (const double tau : cells.taus)
    taus.push_back(unit.show(tau) + (unit.name.empty() ? "" : " " + unit.name));
  return fmt::format(
      "Times are compared up to tau = {}, the earliest end of a cell whose last run did not arrive{}: > nobody arrives by then, ≥ a mean of min(T, tau) (Kaplan-Meier)",
      fmt::join(taus, ", "), taus.size() > 1 ? ", of each row its own" : "");
}

std::string statistic_text(const CellQuestion& question) {
  if (question.statistic == CellQuestion::Statistic::median)
    return "median [95 % interval between order statistics]";
  if (question.method == CellQuestion::Method::bootstrap) return "mean [95 % interval, bootstrap]";
  return "mean ± half width of Student's 95 % interval";
}

void explain(const Cells& cells, const CellQuestion& question, ResultTable& table) {
  using Mark = TableCell::Mark;
  const auto any = [&](auto holds) {
    return std::any_of(cells.cells.begin(), cells.cells.end(),
                       [&](const auto& row) { return std::any_of(row.begin(), row.end(), holds); });
  };
  const auto marked = [&](Mark mark) {
    return any([mark](const TableCell& cell) { return cell.mark == mark; });
  };
  const bool bare = any([](const TableCell& cell) {
    return cell.summary.count() > 1 && cell.summary.value && !cell.summary.interval &&
           cell.summary.method != kDeterministic;
  });
  const bool mean = question.statistic == CellQuestion::Statistic::mean;
  if (marked(Mark::best))
    table.notes.push_back(
        std::string("* best") +
        (marked(Mark::tie)
             ? "; = tie with it: by the paired difference, after Holm's correction, chance may have made it"
             : ""));
  if (marked(Mark::undecided))
    table.notes.emplace_back(
        "~ undecided: deterministic runs that differ by less than the model is off by (docs/statistics.md)");
  if (!cells.taus.empty()) table.notes.push_back(note_on_tau(cells));
  if (!mean && any([](const TableCell& cell) { return cell.summary.censored > 0; }))
    table.notes.emplace_back(
        "Runs that end before their target are censored there, not dropped: > where fewer than half arrive (Kaplan-Meier)");
  if (bare && mean)
    table.notes.push_back(fmt::format("A bootstrap interval needs {} seeds", statistics::kLeastForBootstrap));
  else if (bare)
    table.notes.emplace_back("An interval of a median needs 6 seeds");
}

std::vector<std::string> axes_named(const Selection& selection, const std::string& option,
                                    const std::vector<std::string>& names, std::vector<InputError>& errors) {
  std::vector<std::string> axes;
  for (const std::string& name : names) axes.push_back(selection.axis(option, name, errors));
  return axes;
}

}  // namespace

ResultTable seed_table(const Selection& selection, const SeedTableQuestion& question) {
  std::vector<InputError> errors = selection.errors();
  const std::vector<std::string> columns = axes_named(selection, "--columns", question.columns, errors);
  std::vector<std::string> axes = axes_named(selection, "--rows", question.rows, errors);
  if (question.rows.empty())
    for (const std::string& axis : selection.varying())
      if (std::find(columns.begin(), columns.end(), axis) == columns.end()) axes.push_back(axis);
  const std::size_t row_axes = axes.size();
  for (const std::string& axis : columns) {
    if (!axis.empty() && std::find(axes.begin(), axes.end(), axis) != axes.end())
      errors.push_back({"--columns", "", "is among --rows too", axis, "Name each axis once"});
    axes.push_back(axis);
  }
  const std::vector<Measure> measures = parse_measures(selection, question.measures, errors);
  if (!columns.empty() && question.measures.size() > 1)
    errors.push_back({"--metric", "", "is several, and --columns is given",
                      fmt::format("{}", fmt::join(question.measures, ",")),
                      "Ask for one metric, or leave --columns out"});
  if (!errors.empty()) throw ConfigError(errors);
  expect_results(selection);
  const Grid grid(selection, axes);
  for (const std::string& axis : grid.mixed())
    errors.push_back({"--rows", "", axis + " varies inside the cells, which are means over seeds alone", "",
                      fmt::format("Add it to --rows or --columns, or choose with --where {}=VALUE", axis)});
  if (!errors.empty()) throw ConfigError(errors);
  ResultTable table;
  const Cells cells = cells_of(grid, row_axes, measures, question.cell);
  table.title = selection.study().name + ": ";
  table.facts = {
      {"study", selection.study().name}, {"id", selection.study().id}, {"level", statistics::kUsualLevel}};
  fill_shown(cells, grid, row_axes, statistic_text(question.cell), table);
  fill_records(cells, grid, table);
  explain(cells, question.cell, table);
  for (const std::string& note : notes_on_missing(selection.points())) table.notes.push_back(note);
  return table;
}

}  // namespace simsgd::tables

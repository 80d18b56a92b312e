#include "analysis/questions/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace simsgd::questions {

namespace {

constexpr const char* kDeterministic = "deterministic";

/// What stands in a row and a column: of a place, a measure.
struct TableCell {
  bool there = false;
  std::vector<Sample> samples;
  CellSummary summary;
  enum class Mark { none, best, tie, undecided } mark = Mark::none;
  double off_by = 0;  ///< where undecided: how far the model may be off in the difference
};

using Place = std::vector<std::size_t>;  // of each axis, which value

/// The whole table before it is text: rows of cells, under columns of a place and a measure.
struct Cells {
  std::vector<std::size_t> row_axes, column_axes;
  std::vector<Place> rows, columns;
  std::vector<Measure> measures;
  std::vector<std::vector<TableCell>> cells;  ///< [row][column x measure]
  std::vector<double> taus;                   ///< up to which compared times are means, each once
  std::vector<std::string> within;            ///< circumstances: cells are compared for each value of these

  const Measure& measure(std::size_t column) const { return measures[column % measures.size()]; }
  const Place& place(std::size_t column) const { return columns[column / measures.size()]; }
  std::size_t width() const { return columns.size() * measures.size(); }
};

/// Of cells that are compared: one tau, what each says up to there, and which is best.
void settle(const Frame& frame, const std::vector<TableCell*>& group, const Measure& measure,
            const CellQuestion& question, Cells& cells) {
  std::vector<std::vector<Sample>> samples;
  std::vector<statistics::Runs> runs;
  for (const TableCell* cell : group) {
    samples.push_back(cell->samples);
    runs.push_back(runs_of(cell->samples));
  }
  const std::optional<double> tau = statistics::common_tau(runs);
  std::vector<std::optional<double>> shown;
  for (TableCell* cell : group) {
    cell->summary =
        summarise(cell->samples, question, tau,
                  is_deterministic(frame.details().scenario, measure.name, points_of(cell->samples)));
    shown.push_back(cell->summary.value);
    if (cell->summary.until && std::ranges::find(cells.taus, *tau) == cells.taus.end())
      cells.taus.push_back(*tau);
  }
  const bool median = question.statistic == CellQuestion::Statistic::median;
  const statistics::Contest found =
      contest(frame, measure, samples, median ? shown : std::vector<std::optional<double>>());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (found.best == i) group[i]->mark = TableCell::Mark::best;
    if (found.verdicts[i] == statistics::Verdict::tie) group[i]->mark = TableCell::Mark::tie;
    if (found.verdicts[i] != statistics::Verdict::undecided) continue;
    group[i]->mark = TableCell::Mark::undecided;
    group[i]->off_by = *found.against_best[i]->off_by;
  }
}

/// Cells are compared where they differ in what is chosen: in a row, where a column's axis is chosen, else in
/// a column; and never between two values of what only happens.
void settle_all(const Frame& frame, const CellQuestion& question, Cells& cells) {
  const auto happens = [&](std::size_t axis) { return frame.axes()[axis].circumstance; };
  const bool in_rows =
      std::ranges::any_of(cells.column_axes, [&](std::size_t axis) { return !happens(axis); });
  const auto kept = [&](const std::vector<std::size_t>& axes, const Place& place, bool whole) {
    Place part;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (whole || happens(axes[i])) part.push_back(place[i]);
    return part;
  };
  std::map<std::tuple<std::size_t, Place, Place>, std::vector<TableCell*>> groups;
  for (std::size_t row = 0; row < cells.rows.size(); ++row)
    for (std::size_t column = 0; column < cells.width(); ++column)
      groups[{column % cells.measures.size(), kept(cells.row_axes, cells.rows[row], in_rows),
              kept(cells.column_axes, cells.place(column), !in_rows)}]
          .push_back(&cells.cells[row][column]);
  for (const auto& [key, group] : groups)
    settle(frame, group, cells.measures[std::get<0>(key)], question, cells);
  for (const std::size_t axis : in_rows ? cells.column_axes : cells.row_axes)
    if (happens(axis) && frame.axes()[axis].values.size() > 1)
      cells.within.push_back(frame.axes()[axis].name);
}

Cells cells_of(const Frame& frame, std::vector<std::size_t> row_axes, std::vector<std::size_t> column_axes,
               std::vector<Measure> measures, const CellQuestion& question) {
  Cells cells{std::move(row_axes), std::move(column_axes), {}, {}, std::move(measures), {}, {}, {}};
  std::vector<std::size_t> axes = cells.row_axes;
  axes.insert(axes.end(), cells.column_axes.begin(), cells.column_axes.end());
  const auto middle = static_cast<std::ptrdiff_t>(cells.row_axes.size());
  std::map<Place, const Group*> found;
  const std::vector<Group> groups = frame.groups(axes);
  for (const Group& group : groups) {
    found[group.at] = &group;
    const Place row(group.at.begin(), group.at.begin() + middle),
        column(group.at.begin() + middle, group.at.end());
    if (std::ranges::find(cells.rows, row) == cells.rows.end()) cells.rows.push_back(row);
    if (std::ranges::find(cells.columns, column) == cells.columns.end()) cells.columns.push_back(column);
  }
  for (const Place& row : cells.rows) {
    cells.cells.emplace_back();
    for (std::size_t column = 0; column < cells.width(); ++column) {
      Place place = row;
      place.insert(place.end(), cells.place(column).begin(), cells.place(column).end());
      const auto group = found.find(place);
      TableCell& cell = cells.cells.back().emplace_back();
      cell.there = group != found.end();
      if (cell.there) cell.samples = samples_of(frame, group->second->points, cells.measure(column));
    }
  }
  settle_all(frame, question, cells);
  return cells;
}

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

struct MarkText {
  const char *name, *text;
};
MarkText text_of(TableCell::Mark mark) {
  constexpr MarkText texts[] = {{"", ""}, {"best", " *"}, {"tie", " ="}, {"undecided", " ~"}};
  return texts[static_cast<std::size_t>(mark)];
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
  if (cell.mark == TableCell::Mark::undecided) remarks.push_back("within ± " + unit.show(cell.off_by));
  return shown_cell(summary, unit) + (remarks.empty() ? "" : fmt::format(" ({})", fmt::join(remarks, ", "))) +
         (cell.mark == TableCell::Mark::none && marked ? "  " : text_of(cell.mark).text);
}

void fill_shown(const Cells& cells, const Frame& frame, const std::string& statistic, Table& table) {
  std::vector<CommonUnit> units;
  std::size_t usual_count = 0;
  for (const Measure& measure : cells.measures) units.push_back(unit_of(cells, measure));
  for (const auto& row : cells.cells)
    for (const TableCell& cell : row) usual_count = std::max(usual_count, cell.summary.count());
  const auto unit = [&](std::size_t column) { return units[column % units.size()]; };
  const auto is_marked = [&](std::size_t column) {
    return std::ranges::any_of(
        cells.cells, [column](const auto& row) { return row[column].mark != TableCell::Mark::none; });
  };
  const bool fixed = std::ranges::all_of(cells.cells, [](const auto& row) {
    return std::ranges::all_of(row, [](const TableCell& cell) {
      return !cell.there || cell.summary.method == kDeterministic || cell.summary.count() == 0;
    });
  });
  const auto labels = [&](const std::vector<std::size_t>& axes, const Place& place) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < axes.size(); ++i)
      texts.push_back(frame.axes()[axes[i]].values[place[i]].label);
    return texts;
  };
  table.align.assign(cells.row_axes.size(), 'l');
  for (const std::size_t axis : cells.row_axes) table.header.push_back(frame.axes()[axis].name);
  for (std::size_t column = 0; column < cells.width(); ++column) {
    const std::string label =
        fmt::format("{}", fmt::join(labels(cells.column_axes, cells.place(column)), ", "));
    table.header.push_back(label.empty() ? cells.measure(column).name + in_brackets(unit(column)) : label);
  }
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    table.rows.push_back(labels(cells.row_axes, cells.rows[row]));
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

void fill_records(const Cells& cells, const Frame& frame, Table& table) {
  for (std::size_t row = 0; row < cells.rows.size(); ++row)
    for (std::size_t column = 0; column < cells.width(); ++column) {
      const TableCell& cell = cells.cells[row][column];
      if (!cell.there) continue;
      const CellSummary& summary = cell.summary;
      Table::Record record;
      for (const auto& [axes, place] : {std::pair(&cells.row_axes, &cells.rows[row]),
                                        std::pair(&cells.column_axes, &cells.place(column))})
        for (std::size_t i = 0; i < axes->size(); ++i) {
          const Axis& axis = frame.axes()[(*axes)[i]];
          record.emplace_back(axis.name, record_of(axis.values[(*place)[i]]));
        }
      record.insert(record.end(), {{"metric", cells.measure(column).name},
                                   {"unit", cells.measure(column).unit},
                                   {"statistic", summary.statistic},
                                   {"value", finite_or_null(summary.value)},
                                   {"low", low_or_null(summary.interval)},
                                   {"high", high_or_null(summary.interval)},
                                   {"method", summary.method},
                                   {"n", summary.count()},
                                   {"censored", summary.censored},
                                   {"until", finite_or_null(summary.until)},
                                   {"no_value", summary.none},
                                   {"failed", summary.failed},
                                   {"not_run", summary.not_run},
                                   {"mark", text_of(cell.mark).name}});
      table.add(record);
    }
}

/// Where a row first reaches each of some values.
void fill_reached(const Cells& cells, const Frame& frame, const std::vector<double>& reaches, Table& table) {
  const Measure& measure = cells.measures.front();
  const bool less = measure.better == Better::less;
  const Axis& along = frame.axes()[cells.column_axes.front()];
  table.title += fmt::format("the first {} at which {} is at {} the value of the column", along.name,
                             measure.name, less ? "most" : "least");
  table.align.assign(cells.row_axes.size(), 'l');
  for (const std::size_t axis : cells.row_axes) table.header.push_back(frame.axes()[axis].name);
  for (const double value : reaches) table.header.push_back(fmt::format("{:g}", value));
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    Table::Record place;
    std::vector<std::string>& line = table.rows.emplace_back();
    for (std::size_t i = 0; i < cells.row_axes.size(); ++i) {
      const Axis& axis = frame.axes()[cells.row_axes[i]];
      line.push_back(axis.values[cells.rows[row][i]].label);
      place.emplace_back(axis.name, record_of(axis.values[cells.rows[row][i]]));
    }
    for (const double value : reaches) {
      std::optional<std::size_t> first;
      for (std::size_t column = 0; column < cells.width(); ++column) {
        const std::optional<double>& shown = cells.cells[row][column].summary.value;
        const std::size_t at = cells.place(column).front();
        if (shown && (less ? *shown <= value : *shown >= value) && at < first.value_or(at + 1)) first = at;
      }
      line.push_back(first ? along.values[*first].label : "none");
      Table::Record record = place;
      record.insert(record.end(), {{"metric", measure.name},
                                   {"reaches", value},
                                   {along.name, first ? record_of(along.values[*first]) : OrderedJson()}});
      table.add(record);
    }
  }
}

std::string statistic_text(const CellQuestion& question) {
  if (question.statistic == CellQuestion::Statistic::median)
    return "median [95 % interval between order statistics]";
  if (question.method == CellQuestion::Method::bootstrap) return "mean [95 % interval, bootstrap]";
  return "mean ± half width of Student's 95 % interval";
}

void explain(const Cells& cells, const CellQuestion& question, Table& table) {
  using Mark = TableCell::Mark;
  const auto any = [&](auto holds) {
    return std::ranges::any_of(cells.cells, [&](const auto& row) { return std::ranges::any_of(row, holds); });
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
             ? "; = tie with it: the paired difference is not significant after Holm's correction"
             : ""));
  if (marked(Mark::undecided)) table.notes.push_back(std::string("~ ") + kUndecidedNote);
  if (marked(Mark::best) && !cells.within.empty())
    table.notes.push_back(
        fmt::format("Best for each value of {}, which {} and {} not chosen (\"circumstances\")",
                    fmt::join(cells.within, " and "), cells.within.size() > 1 ? "happen" : "happens",
                    cells.within.size() > 1 ? "are" : "is"));
  if (!cells.taus.empty()) {
    const auto timed = std::ranges::find_if(
        cells.measures, [](const Measure& each) { return each.name == "time_to_target_s"; });
    table.notes.push_back(note_on_tau(
        cells.taus, unit_of(cells, timed == cells.measures.end() ? cells.measures.front() : *timed)));
  }
  if (!mean && any([](const TableCell& cell) { return cell.summary.censored > 0; }))
    table.notes.emplace_back(
        "Runs that end before their target are censored there, not dropped: > where fewer than half arrive (Kaplan-Meier)");
  if (bare && mean)
    table.notes.push_back(fmt::format("A bootstrap interval needs {} seeds", statistics::kLeastForBootstrap));
  else if (bare)
    table.notes.emplace_back("An interval of a median needs 6 seeds");
}

std::vector<std::size_t> axes_named(const Frame& frame, const std::string& option,
                                    const std::vector<std::string>& names, std::vector<InputError>& errors) {
  std::vector<std::size_t> axes;
  for (const std::string& name : names)
    if (const auto found = frame.axis(option, name, errors)) axes.push_back(*found);
  return axes;
}

bool has(const std::vector<std::size_t>& axes, std::size_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

}  // namespace

Table seed_table(const Frame& frame, const SeedTableQuestion& question, std::vector<InputError> errors) {
  const std::vector<std::size_t> columns = axes_named(frame, "--columns", question.columns, errors);
  std::vector<std::size_t> rows = axes_named(frame, "--rows", question.rows, errors);
  if (question.rows.empty())
    for (const std::size_t axis : frame.varying())
      if (!has(columns, axis)) rows.push_back(axis);
  for (const std::size_t axis : columns)
    if (has(rows, axis))
      errors.push_back(
          {"--columns", "", "is also in --rows", frame.axes()[axis].name, "Name each axis once"});
  const std::vector<Measure> measures = parse_measures(frame, question.measures, errors);
  if (!question.columns.empty() && question.measures.size() > 1)
    errors.push_back({"--metric", "", "names several metrics, and a table with --columns shows one",
                      fmt::format("{}", fmt::join(question.measures, ",")),
                      "Give one metric, or drop --columns"});
  if (!question.reaches.empty() &&
      (columns.size() != 1 || measures.size() != 1 || measures.front().better == Better::neither))
    errors.push_back({"--reaches", "",
                      "needs one axis in --columns, and one metric that is better when higher or when lower",
                      "", "Write, for example, --columns workers --metric scaling_efficiency --reaches 0.9"});
  if (!errors.empty()) throw ConfigError(errors);
  expect_results(frame);
  std::vector<std::size_t> axes = rows;
  axes.insert(axes.end(), columns.begin(), columns.end());
  for (const std::size_t axis : frame.mixed(axes)) {
    const std::string& name = frame.axes()[axis].name;
    errors.push_back(
        {"--rows", "", name + " varies within cells, which are means over seeds only", "",
         fmt::format("Add it to --rows or --columns, or choose a value with --where {}=VALUE", name)});
  }
  if (!errors.empty()) throw ConfigError(errors);
  Table table;
  const Cells cells = cells_of(frame, rows, columns, measures, question.cell);
  table.title = frame.study().name + ": ";
  table.facts = {{"study", frame.study().name}, {"id", frame.study().id}, {"level", statistics::kUsualLevel}};
  if (question.reaches.empty()) {
    fill_shown(cells, frame, statistic_text(question.cell), table);
    fill_records(cells, frame, table);
    explain(cells, question.cell, table);
  } else {
    fill_reached(cells, frame, question.reaches, table);
  }
  for (const std::string& note : notes_on_missing(frame.rows())) table.notes.push_back(note);
  return table;
}

}  // namespace simsgd::questions

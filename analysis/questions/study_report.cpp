#include "analysis/questions/study_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <set>

#include "analysis/questions/tables.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::questions {

namespace {

constexpr std::size_t kMostErrors = 5;

std::optional<Table> headline_of(const frame::Frame& frame) {
  const auto chosen = [&](std::size_t axis) { return !frame.axes()[axis].circumstance; };
  const std::vector<std::size_t> varying = frame.varying();
  if (std::ranges::none_of(varying, chosen) || !headline_measure(frame)) return std::nullopt;
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
  StudyReport made{study.name, study.file, frame.rows().size(), 0, 0, grid.seeds, {}, {}, {}, {}, {}, "",
                   {},         study.id};
  for (std::size_t i = 0; i < grid.axes.size(); ++i) made.axes.push_back(grid.axis(i));
  if (grid.series) made.series = made.axes[*grid.series].field;
  for (const ResultPoint* point : frame.rows()) {
    if (point->status == RunStatus::ok) ++made.done;
    if (!point->status || point->status == RunStatus::ok) continue;
    if (++made.failed <= kMostErrors) made.errors.push_back(point->label + ": " + point->error);
  }
  if (made.done > 0 && grid.averaged.empty()) made.headline = headline_of(frame);
  for (const std::string& axis : grid.averaged)
    made.notes.push_back(
        fmt::format("{} has too many values to choose from: charts average over it, as over seeds.", axis));
  for (std::string& note : notes_of(frame, made.done)) made.notes.push_back(std::move(note));
  for (const ChartKind& kind : chart_kinds()) {
    if (!charts.empty() && std::ranges::find(charts, kind.name) == charts.end()) continue;
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
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-/=", c);
  };
  if (!argument.empty() && std::ranges::all_of(argument, plain)) return argument;
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

std::vector<std::string> chart_names() {
  std::vector<std::string> names;
  for (const ChartKind& kind : chart_kinds()) names.emplace_back(kind.name);
  return names;
}

Report make_report(const std::vector<frame::Frame>& frames, const std::string& store,
                   const std::vector<std::string>& charts) {
  const std::vector<std::string> names = chart_names();
  std::vector<InputError> errors;
  for (const std::string& chart : charts)
    if (std::ranges::find(names, chart) == names.end())
      errors.push_back({"--chart", "", "is not a chart", chart, which_there_are(chart, names, "Write")});
  if (!errors.empty()) throw ConfigError(std::move(errors));
  Report report{store, {}};
  for (const frame::Frame& frame : frames) report.studies.push_back(report_of(frame, charts));
  return report;
}

Report make_report(const std::vector<ResultStudy>& studies, const frame::RunDetails& details,
                   const std::string& store, const std::vector<std::string>& charts) {
  std::vector<frame::Frame> frames;
  for (const ResultStudy& study : studies) frames.emplace_back(study, details);
  return make_report(frames, store, charts);
}

std::string command_of(const Report& report, const Chart& chart) {
  if (!report.command.empty()) return report.command;
  std::string command = "simsgd report " + quoted(report.store);
  for (const std::string& each : report.selection) command += " " + quoted(each);
  return command + fmt::format(" --chart {} --figures figures", chart.name);
}

std::vector<std::vector<Cell>> rows_shown_first(const Chart& chart) {
  std::vector<std::pair<std::size_t, Cell>> wanted;
  for (const std::string& filter : chart.filters)
    for (std::size_t c = 0; c < chart.columns.size(); ++c)
      if (chart.columns[c].field == filter && !chart.rows.empty())
        wanted.emplace_back(c, chart.rows.front()[c]);
  std::vector<std::vector<Cell>> rows;
  for (const std::vector<Cell>& row : chart.rows)
    if (std::ranges::all_of(wanted, [&](const auto& each) { return row[each.first] == each.second; }))
      rows.push_back(row);
  return rows;
}

namespace {

std::string state_of(const ResultPoint& point) {
  return point.status ? status_name(*point.status) : "not run";
}

std::size_t count_of(const ResultStudy& study, std::optional<RunStatus> status) {
  return static_cast<std::size_t>(
      std::ranges::count_if(study.points, [&](const ResultPoint& each) { return each.status == status; }));
}

/// For people: "12.3 ms", "102 MB", "345 1/s".
std::string human(double value, const std::string& unit) {
  if (unit == "s") return human_time(value);
  if (unit == "B") return human_bytes(value);
  if (unit == "1/s") return human_number(value) + "/s";
  return human_number(value) + (unit.empty() || unit == "1" ? "" : " " + unit);
}

const ResultPoint& numbered(const Frame& frame, const std::string& number) {
  const std::vector<ResultPoint>& points = frame.study().points;
  const auto place = number_of_text<std::size_t>(number);
  if (!place || *place < 1 || *place > points.size())
    throw ConfigError(
        {"POINT", "", "is not a point of " + frame.study().name, number,
         fmt::format("Write a number from 1 to {}, as simsgd sweep plan counts", points.size())});
  return points[*place - 1];
}

void add_metrics(const Frame& frame, const ResultPoint& point, Table& table) {
  const OrderedJson intervals =
      point.status == RunStatus::ok ? frame.details().intervals(point.key) : OrderedJson::object();
  table.header = {"metric", "value", "in 90 %"};
  table.fields = {"metric", "value", "unit", "low_90", "high_90"};
  const std::vector<const ResultPoint*> alone = {&point};
  for (const std::string& name : metrics_of(alone)) {
    const double value = point.metrics.at(name);
    const Measure measure = measure_of_metric(name);
    const bool known = intervals.contains(name);
    const OrderedJson widest = known ? intervals.at(name).back() : OrderedJson();
    table.rows.push_back({name, human(value, measure.unit),
                          known ? fmt::format("{} to {}", human(widest.at("low"), measure.unit),
                                              human(widest.at("high"), measure.unit))
                                : ""});
    table.records.push_back({name, value, measure.unit, known ? widest.at("low") : OrderedJson(),
                             known ? widest.at("high") : OrderedJson()});
  }
}

void add_links(const Frame& frame, const ResultPoint& point, Table& table) {
  OrderedJson links = OrderedJson::array();
  for (const ResultLink& link : frame.details().busiest_links(point.key)) {
    links.push_back({{"name", link.name}, {"utilisation", link.utilisation}, {"bytes", link.bytes}});
    if (links.size() == 1)
      table.notes.push_back(fmt::format("Busiest link: {}, {:.0f} % of the time, {}", link.name,
                                        100 * link.utilisation, human_bytes(link.bytes)));
  }
  table.facts["links"] = std::move(links);
}

}  // namespace

Table studies_table(const StoredResults& results, const std::string& file) {
  Table table;
  const std::size_t count = results.studies().size();
  table.title = fmt::format("{}: {} {}", file, count, count == 1 ? "study" : "studies");
  table.header = {"study", "axes", "points", "done", "failed", "not run"};
  table.align = "ll";
  for (const ResultStudy& study : results.studies()) {
    std::vector<std::string> axes, names;
    OrderedJson sizes = OrderedJson::object();
    const Frame frame(study, details_of(results));
    for (const Axis& axis : frame.axes()) {
      axes.push_back(fmt::format("{} ({})", axis.name, axis.values.size()));
      sizes[axis.name] = axis.values.size();
    }
    std::set<std::int64_t> seeds;
    for (const ResultPoint& point : study.points)
      if (point.seed) seeds.insert(*point.seed);
    if (!seeds.empty()) axes.push_back(fmt::format("seeds ({})", seeds.size()));
    const std::size_t ok = count_of(study, RunStatus::ok), failed = count_of(study, RunStatus::failed),
                      late = count_of(study, RunStatus::timeout), none = count_of(study, {});
    const std::vector<std::string> metrics = metrics_of(frame.rows());
    table.rows.push_back({study.name, fmt::format("{}", fmt::join(axes, ", ")),
                          std::to_string(study.points.size()), std::to_string(ok),
                          std::to_string(failed + late), std::to_string(none)});
    table.add({{"study", study.name},
               {"id", study.id},
               {"file", study.file},
               {"points", study.points.size()},
               {"done", ok},
               {"failed", failed},
               {"timed_out", late},
               {"not_run", none},
               {"axes", fmt::format("{}", fmt::join(axes, "; "))},
               {"metrics", fmt::format("{}", fmt::join(metrics, "; "))}});
    table.notes.push_back(
        fmt::format("Metrics of {}: {}", study.name,
                    metrics.empty() ? "none" : fmt::format("{}", fmt::join(metrics, ", "))));
  }
  table.facts["file"] = file;
  return table;
}

Table points_table(const Frame& frame) {
  Table table;
  const std::vector<std::string> metrics = metrics_of(frame.rows());
  table.title = frame.study().name + ": " + counted(frame.rows().size(), "point");
  table.header = {"point", "", "state"};
  table.align = "lll";
  for (std::size_t row = 0; row < frame.rows().size(); ++row) {
    const ResultPoint* point = frame.rows()[row];
    table.rows.push_back({std::to_string(point->position + 1), point->label, state_of(*point)});
    Table::Record record = {{"point", point->position + 1}};
    for (const Axis& axis : frame.axes())
      record.emplace_back(axis.name, record_of(axis.values[axis.at[row]]));
    record.emplace_back("seed", point->seed ? OrderedJson(*point->seed) : OrderedJson());
    record.emplace_back("status", state_of(*point));
    record.emplace_back("error", point->error);
    for (const std::string& name : metrics)
      record.emplace_back(name, finite_or_null(metric_in(point->metrics, name)));
    table.add(record);
  }
  table.facts = {{"study", frame.study().name}, {"id", frame.study().id}};
  for (const std::string& note : notes_on_missing(frame.rows())) table.notes.push_back(note);
  return table;
}

std::size_t add_intervals(const Frame& frame, Table& points) {
  constexpr const char* kStep = "iteration_time_mean_s";
  std::vector<OrderedJson> intervals;
  std::set<std::string> known;
  std::size_t without = 0;
  for (const ResultPoint* point : frame.rows()) {
    const bool ok = point->status == RunStatus::ok;
    intervals.push_back(ok ? frame.details().intervals(point->key) : OrderedJson::object());
    for (const auto& each : intervals.back().items()) known.insert(each.key());
    without += ok && intervals.back().empty() ? 1U : 0U;
  }
  for (const std::string& name : metrics_of(frame.rows())) {
    if (!known.contains(name)) continue;
    for (const char* end : {"low", "high"}) {
      points.fields.push_back(fmt::format("{}_{}_90", name, end));
      for (std::size_t row = 0; row < intervals.size(); ++row) {
        const auto its = intervals[row].find(name);
        points.records[row].push_back(its == intervals[row].end() ? OrderedJson() : its->back().at(end));
      }
    }
  }
  if (!known.contains(kStep)) return without;
  points.header.insert(points.header.end(), {"step", "in 90 %"});
  for (std::size_t row = 0; row < intervals.size(); ++row) {
    const auto its = intervals[row].find(kStep);
    const bool has = its != intervals[row].end();
    points.rows[row].push_back(has ? human_time(frame.rows()[row]->metrics.at(kStep)) : "");
    points.rows[row].push_back(has ? fmt::format("{} to {}", human_time(its->back().at("low").get<double>()),
                                                 human_time(its->back().at("high").get<double>()))
                                   : "");
  }
  return without;
}

Table point_table(const Frame& frame, const std::string& number) {
  const ResultPoint& point = numbered(frame, number);
  Table table;
  table.title = fmt::format("{}, point {}{}: {}", frame.study().name, point.position + 1,
                            point.label.empty() ? "" : ", " + point.label, state_of(point));
  OrderedJson coordinates = OrderedJson::object();
  for (const ResultCoordinate& each : point.coordinates) coordinates[each.axis] = each.value;
  table.facts = {{"study", frame.study().name},
                 {"point", point.position + 1},
                 {"label", point.label},
                 {"coordinates", coordinates},
                 {"seed", point.seed ? OrderedJson(*point.seed) : OrderedJson(nullptr)},
                 {"key", point.key},
                 {"status", state_of(point)},
                 {"error", point.error}};
  add_metrics(frame, point, table);
  if (!point.error.empty()) table.notes.push_back("Error: " + point.error);
  if (point.status == RunStatus::ok) add_links(frame, point, table);
  return table;
}

}  // namespace simsgd::questions

#include "analysis/tables/overview.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "analysis/tables/missing.hpp"
#include "analysis/tables/numbers.hpp"
#include "sim/base/units.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::tables {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string state_of(const ResultPoint& point) {
  return point.status ? status_name(*point.status) : "not run";
}

std::vector<const ResultPoint*> pointers_to(const std::vector<ResultPoint>& points) {
  std::vector<const ResultPoint*> all;
  for (const ResultPoint& point : points) all.push_back(&point);
  return all;
}

struct Axis {
  std::string name;
  std::set<std::string> values;
};

std::vector<Axis> axes_of(const ResultStudy& study) {
  std::vector<Axis> axes;
  for (const std::string& name : study.axes) {
    axes.push_back({name, {}});
    for (const ResultPoint& point : study.points) axes.back().values.insert(value_on(point, name).label);
  }
  return axes;
}

std::size_t count_of(const ResultStudy& study, std::optional<RunStatus> status) {
  return static_cast<std::size_t>(
      std::count_if(study.points.begin(), study.points.end(),
                    [&](const ResultPoint& each) { return each.status == status; }));
}

/// For people: "12.3 ms", "102 MB", "345 1/s".
std::string human(double value, const std::string& unit) {
  if (unit == "s") return human_time(value);
  if (unit == "B") return human_bytes(value);
  if (unit == "1/s") return human_number(value) + "/s";
  return human_number(value) + (unit.empty() || unit == "1" ? "" : " " + unit);
}

const ResultPoint& numbered(const Selection& selection, const std::string& number) {
  const std::vector<ResultPoint>& points = selection.study().points;
  std::size_t place = 0;
  const char* end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, place);
  if (error != std::errc() || rest != end || place < 1 || place > points.size())
    throw ConfigError(
        {"POINT", "", "is no point of " + selection.study().name, number,
         fmt::format("Write a number from 1 to {}, as simsgd sweep plan counts", points.size())});
  return points[place - 1];
}

void add_metrics(const ResultPoint& point, ResultTable& table) {
  table.header = {"metric", "value", ""};
  table.fields = {"metric", "value", "unit"};
  const std::vector<const ResultPoint*> alone = {&point};
  for (const std::string& name : metrics_of(alone)) {
    const double value = point.metrics.at(name);
    const Measure measure = measure_of_metric(name);
    table.rows.push_back({name, human(value, measure.unit), ""});
    table.records.push_back({name, value, measure.unit});
  }
}

void add_links(const Selection& selection, const ResultPoint& point, ResultTable& table) {
  OrderedJson links = OrderedJson::array();
  for (const ResultLink& link : selection.results().busiest_links(point.key)) {
    links.push_back({{"name", link.name}, {"utilisation", link.utilisation}, {"bytes", link.bytes}});
    if (links.size() == 1)
      table.notes.push_back(fmt::format("Busiest link: {}, {:.0f} % of the time, {}", link.name,
                                        100 * link.utilisation, human_bytes(link.bytes)));
  }
  table.facts["links"] = std::move(links);
}

}  // namespace

ResultTable studies_table(const StoredResults& results, const std::string& file) {
  ResultTable table;
  const std::size_t count = results.studies().size();
  table.title = fmt::format("{}: {} {}", file, count, count == 1 ? "study" : "studies");
  table.header = {"study", "axes", "points", "done", "failed", "not run"};
  table.left = 2;
  table.fields = {"study",  "id",        "file",    "points", "done",
                  "failed", "timed_out", "not_run", "axes",   "metrics"};
  for (const ResultStudy& study : results.studies()) {
    std::vector<std::string> axes, names;
    OrderedJson sizes = OrderedJson::object();
    for (const Axis& axis : axes_of(study)) {
      axes.push_back(fmt::format("{} ({})", axis.name, axis.values.size()));
      sizes[axis.name] = axis.values.size();
    }
    std::set<std::int64_t> seeds;
    for (const ResultPoint& point : study.points)
      if (point.seed) seeds.insert(*point.seed);
    if (!seeds.empty()) axes.push_back(fmt::format("seeds ({})", seeds.size()));
    const std::size_t ok = count_of(study, RunStatus::ok), failed = count_of(study, RunStatus::failed),
                      late = count_of(study, RunStatus::timeout), none = count_of(study, {});
    const std::vector<std::string> metrics = metrics_of(pointers_to(study.points));
    table.rows.push_back({study.name, fmt::format("{}", fmt::join(axes, ", ")),
                          std::to_string(study.points.size()), std::to_string(ok),
                          std::to_string(failed + late), std::to_string(none)});
    table.records.push_back({study.name, study.id, study.file, study.points.size(), ok, failed, late, none,
                             fmt::format("{}", fmt::join(axes, "; ")),
                             fmt::format("{}", fmt::join(metrics, "; "))});
    table.notes.push_back(
        fmt::format("Metrics of {}: {}", study.name,
                    metrics.empty() ? "none" : fmt::format("{}", fmt::join(metrics, ", "))));
  }
  table.facts["file"] = file;
  return table;
}

ResultTable points_table(const Selection& selection) {
  selection.expect_no_errors();
  ResultTable table;
  const std::vector<std::string> metrics = metrics_of(selection.points());
  std::vector<std::string> axes = selection.study().axes;
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  table.title = fmt::format("{}: {} points", selection.study().name, selection.points().size());
  table.header = {"point", "", "state"};
  table.left = 3;
  table.fields = {"point"};
  table.fields.insert(table.fields.end(), axes.begin(), axes.end());
  table.fields.insert(table.fields.end(), {"seed", "status", "error"});
  table.fields.insert(table.fields.end(), metrics.begin(), metrics.end());
  for (const ResultPoint* point : selection.points()) {
    table.rows.push_back({std::to_string(point->position + 1), point->label, state_of(*point)});
    std::vector<OrderedJson> record = {point->position + 1};
    for (const std::string& axis : axes) record.push_back(record_of(value_on(*point, axis)));
    record.push_back(point->seed ? OrderedJson(*point->seed) : OrderedJson(nullptr));
    record.emplace_back(state_of(*point));
    record.emplace_back(point->error);
    for (const std::string& name : metrics) {
      const auto found = point->metrics.find(name);
      record.push_back(
          finite_or_null(found == point->metrics.end() ? std::nullopt : std::optional(found->second)));
    }
    table.records.push_back(std::move(record));
  }
  table.facts = {{"study", selection.study().name}, {"id", selection.study().id}};
  for (const std::string& note : notes_on_missing(selection.points())) table.notes.push_back(note);
  return table;
}

ResultTable point_table(const Selection& selection, const std::string& number) {
  selection.expect_no_errors();
  const ResultPoint& point = numbered(selection, number);
  ResultTable table;
  table.title = fmt::format("{}, point {}{}: {}", selection.study().name, point.position + 1,
                            point.label.empty() ? "" : ", " + point.label, state_of(point));
  OrderedJson coordinates = OrderedJson::object();
  for (const ResultCoordinate& each : point.coordinates) coordinates[each.axis] = each.value;
  table.facts = {{"study", selection.study().name},
                 {"point", point.position + 1},
                 {"label", point.label},
                 {"coordinates", coordinates},
                 {"seed", point.seed ? OrderedJson(*point.seed) : OrderedJson(nullptr)},
                 {"key", point.key},
                 {"status", state_of(point)},
                 {"error", point.error}};
  add_metrics(point, table);
  if (!point.error.empty()) table.notes.push_back("Error: " + point.error);
  if (point.status == RunStatus::ok) add_links(selection, point, table);
  return table;
}

}  // namespace simsgd::tables

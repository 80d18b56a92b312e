#include "results/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"
#include "sim/record.hpp"

namespace simsgd {

namespace {

template <class Point>
struct ValuedColumn {
  CurveColumn column;
  OrderedJson (*value)(const Point&);
};

// JSON has no NaN: what has no value is null.
OrderedJson number_or_null(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

const std::vector<ValuedColumn<SeriesPoint>>& train_columns() {
  using Point = SeriesPoint;
  static const std::vector<ValuedColumn<Point>> columns = {
      {{"step", "1", "Steps that every worker had completed", ""},
       [](const Point& point) { return OrderedJson(point.step); }},
      {{"time_s", "s", "When the last worker had completed the step", ""},
       [](const Point& point) { return OrderedJson(point.time_s); }},
      {{"train_loss", "1",
        "Mean of the losses of all gradients that workers used in this step: of their mini-batches, or, where a worker's batch is cut into micro-batches that count one by one (nonblocking, dropcompute), of all micro-batches that were finished, so that a worker counts by how many it finished. A step in which nobody finished any has no row",
        "without a learner"},
       [](const Point& point) { return number_or_null(point.train_loss); }},
  };
  return columns;
}

const std::vector<ValuedColumn<EvaluationPoint>>& test_columns() {
  using Point = EvaluationPoint;
  static const std::vector<ValuedColumn<Point>> columns = {
      {{"step", "1",
        "The round that is complete; of an evaluation by the clock or at the end, the mean of the workers' completed steps",
        ""},
       [](const Point& point) { return OrderedJson(point.step); }},
      {{"time_s", "s", "Instant of the evaluation", ""},
       [](const Point& point) { return OrderedJson(point.time_s); }},
      {{"test_loss", "1", "Mean loss of the mean model on the test set", "without a test set"},
       [](const Point& point) { return number_or_null(point.test_loss); }},
      {{"test_accuracy", "1", "Share of the test set that the mean model classifies correctly",
        "without a test set, and for a regression"},
       [](const Point& point) { return number_or_null(point.test_accuracy); }},
      {{"consensus_distance", "1", "sqrt(mean over workers of |x_i - mean|^2) of the models", ""},
       [](const Point& point) { return number_or_null(point.consensus_distance); }},
      {{"worker_steps", "1", "List of the steps that each worker had completed; in the document alone", "",
        false},
       [](const Point& point) { return OrderedJson(point.worker_steps); }},
  };
  return columns;
}

template <class Point>
std::vector<CurveColumn> said(const std::vector<ValuedColumn<Point>>& columns) {
  std::vector<CurveColumn> all;
  for (const ValuedColumn<Point>& each : columns) all.push_back(each.column);
  return all;
}

template <class Point>
OrderedJson points_of(const std::vector<Point>& points, const std::vector<ValuedColumn<Point>>& columns) {
  OrderedJson all = OrderedJson::array();
  for (const Point& point : points) {
    OrderedJson members = OrderedJson::object();
    for (const ValuedColumn<Point>& each : columns) members[each.column.name] = each.value(point);
    all.push_back(std::move(members));
  }
  return all;
}

}  // namespace

const std::vector<Curve>& curves() {
  static const std::vector<Curve> table = {
      {"train", "loss.csv", "Learning, a point for every step", said(train_columns())},
      {"test", "accuracy.csv", "The models of all workers at one instant, a point for every evaluation",
       said(test_columns())}};
  return table;
}

OrderedJson series_of(const RunRecord& record) {
  return {{"train", points_of(record.series, train_columns())},
          {"test", points_of(record.evaluations, test_columns())}};
}

std::string curve_csv(const Curve& curve, const OrderedJson& points) {
  std::vector<std::string> cells;
  for (const CurveColumn& column : curve.columns)
    if (column.in_file) cells.push_back(column.name);
  std::string csv = csv_line(cells);
  for (const OrderedJson& point : points) {
    cells.clear();
    for (const CurveColumn& column : curve.columns) {
      if (!column.in_file) continue;
      const auto value = point.find(column.name);
      cells.push_back(value == point.end() || value->is_null() ? "" : value->dump());
    }
    csv += csv_line(cells);
  }
  return csv;
}

namespace {

struct StepColumn {
  CurveColumn column;
  std::function<double(const StepRow&)> value;
};

StepColumn activity_column(Activity activity, const char* definition) {
  return {{activity_metric(activity), "s", definition, ""},
          [activity](const StepRow& row) { return row.activity_s[static_cast<std::size_t>(activity)]; }};
}

const std::vector<StepColumn>& columns() {
  static const std::vector<StepColumn> table = {
      {{"worker", "1", "Rank", ""}, [](const StepRow& row) { return double{1} * row.worker; }},
      {{"step", "1", "Of this worker, from 1", ""},
       [](const StepRow& row) { return static_cast<double>(row.step); }},
      {{"begin_s", "s", "The step began, on the run's clock", ""},
       [](const StepRow& row) { return row.begin_s; }},
      {{"computed_s", "s", "Its last backward pass had ended", "without one"},
       [](const StepRow& row) { return row.computed_s; }},
      {{"operation_begin_s", "s", "Its first collective or message began", "without one"},
       [](const StepRow& row) { return row.operation_begin_s; }},
      {{"operation_went_s", "s", "All that its last one depends on had come", "without one"},
       [](const StepRow& row) { return row.operation_went_s; }},
      {{"operation_end_s", "s", "Its last one ended", "without one"},
       [](const StepRow& row) { return row.operation_end_s; }},
      {{"end_s", "s", "The step ended", ""}, [](const StepRow& row) { return row.end_s; }},
      activity_column(Activity::compute, "Forward and backward passes and the optimizer"),
      activity_column(Activity::straggle, "What stragglers add"),
      activity_column(Activity::selection, "Choosing entries of a sparse gradient"),
      activity_column(Activity::factor, "Products and factorisations of matrices beside the gradient"),
      activity_column(Activity::inverse, "Inverting matrices"),
      activity_column(Activity::host, "Launching, packing and merging"),
      activity_column(Activity::communication, "Waiting for bytes that are on their way"),
      activity_column(Activity::wait, "Waiting for others that have not come yet"),
      {{"staleness", "1", "Mean age in steps of what was used", "where nothing was noted"},
       [](const StepRow& row) { return row.staleness; }},
      {{"bytes_sent", "B", "In this step", ""}, [](const StepRow& row) { return row.bytes_sent; }},
  };
  return table;
}

std::vector<std::string> cells_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> cells(1);
  for (const char letter : line)
    if (letter == ',')
      cells.emplace_back();
    else
      cells.back() += letter;
  return cells;
}

double number_in(const std::string& cell, const std::string& file, std::size_t line) {
  if (const auto value = number_of_text<double>(cell)) return *value;
  throw ConfigError(InputError{file, "", fmt::format("has a cell that is not a number in line {}", line),
                               cell, "Give a file that a run wrote with --steps"});
}

}  // namespace

const std::vector<CurveColumn>& step_columns() {
  static const std::vector<CurveColumn> all = [] {
    std::vector<CurveColumn> said;
    for (const StepColumn& each : columns()) said.push_back(each.column);
    return said;
  }();
  return all;
}

std::string steps_csv(std::vector<StepRow> rows) {
  std::ranges::stable_sort(rows, [](const StepRow& a, const StepRow& b) {
    return a.worker != b.worker ? a.worker < b.worker : a.step < b.step;
  });
  std::vector<std::string> cells;
  for (const StepColumn& each : columns()) cells.push_back(each.column.name);
  std::string csv = csv_line(cells);
  for (const StepRow& row : rows) {
    cells.clear();
    for (const StepColumn& each : columns()) {
      const double value = each.value(row);
      cells.push_back(std::isfinite(value) ? fmt::format("{}", value) : "");
    }
    csv += csv_line(cells);
  }
  return csv;
}

StepValues read_steps(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  const auto refuse = [&](const char* problem) {
    throw ConfigError(
        InputError{path.string(), "", problem, "", "Give a file that a run wrote with --steps"});
  };
  if (!file) refuse("cannot be read");
  if (!std::getline(file, line)) refuse("is empty");
  std::map<std::string, std::size_t> places;
  const std::vector<std::string> header = cells_of(line);
  for (std::size_t i = 0; i < header.size(); ++i) places[header[i]] = i;
  for (const char* needed : {"begin_s", "end_s", "wait_s", "straggle_s", "staleness"})
    if (!places.contains(needed)) refuse("is not a table of steps: its header lacks a column");
  StepValues values;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != header.size())
      throw ConfigError(InputError{path.string(), "", fmt::format("has a malformed line {}", number),
                                   fmt::format("{} cells", cells.size()),
                                   fmt::format("Give {} cells", header.size())});
    const auto at = [&](const char* name) { return number_in(cells[places[name]], path.string(), number); };
    values.steps_s.push_back(at("end_s") - at("begin_s"));
    values.wait_s.push_back(at("wait_s"));
    values.straggle_s.push_back(at("straggle_s"));
    if (!cells[places["staleness"]].empty()) values.staleness.push_back(at("staleness"));
  }
  return values;
}

}  // namespace simsgd

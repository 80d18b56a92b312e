#include "results/curves.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

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

}  // namespace simsgd

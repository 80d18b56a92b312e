// What `simsgd calibrate` and `simsgd validate` print.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/faces/table.hpp"

namespace simsgd {

namespace {

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.{}f} %", 100 * share, std::fabs(share) < 0.1 ? 2 : 1) : "-";
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

std::string models_text(const Calibration& calibration) {
  Table table;
  table.header = {"model", "parameters", "fitted", "left out", ""};
  for (std::size_t i = 0; i < calibration.models.size(); ++i) {
    const ModelResult& each = calibration.models[i];
    double fit_error = std::sqrt(2 * each.fitted.loss);
    table.rows.push_back({each.name, std::to_string(calibration.spec.models[i].parameters.size()),
                          each.fitted.values.empty() ? "-" : percent(fit_error), percent(each.left_out_error),
                          i == calibration.chosen ? "<- chosen" : ""});
  }
  return text_rows(table);
}

std::string numbers_text(const Calibration& calibration) {
  Table table;
  table.header = {"fitted", "value", "90 % interval", ""};
  for (const NumberInterval& each : number_intervals(calibration, 0.9)) {
    std::string name;
    for (const ParameterSpec& parameter : calibration.model().parameters)
      if (parameter.key(parameter.pointers.front()) == each.pointer) name = parameter.name;
    table.rows.push_back({pointer_of_key(each.pointer), fmt::format("{:.5g}", each.value),
                          each.known ? fmt::format("{:.5g} to {:.5g}", each.low, each.high) : "-", name});
  }
  return text_rows(table);
}

std::string point_text(const Points& points, std::size_t number) {
  const Measurement& each = points.points[number].measurement;
  std::string text = each.operation.empty() ? each.quantity : each.operation;
  if (each.workers > 0) text += fmt::format(", {} workers", each.workers);
  if (std::isfinite(each.bytes)) text += fmt::format(", {:.0f} B", each.bytes);
  for (const auto& [name, value] : each.labels) text += fmt::format(", {} {}", name, value);
  return text;
}

void add_row(Table& table, const std::string& name, const ErrorSummary& summary,
             std::optional<double> noise) {
  std::vector<std::string> row{name,
                               std::to_string(summary.count),
                               percent(summary.mean),
                               percent(summary.median),
                               percent(summary.p95),
                               percent(summary.worst),
                               signed_percent(summary.bias)};
  if (noise) row.push_back(fmt::format("{:.1f}", summary.mean / *noise));
  for (const auto& [level, share] : summary.inside) row.push_back(percent(share));
  table.rows.push_back(std::move(row));
}

/// `noise`: of one measurement, or nothing where it is unknown.
Table errors_table(bool intervals, std::optional<double> noise) {
  Table table;
  table.header = {"", "n", "mean", "median", "p95", "worst", "bias"};
  if (noise) table.header.emplace_back("mean / noise");
  if (intervals)
    for (const char* head : {"in 50 %", "in 90 %"}) table.header.emplace_back(head);
  return table;
}

void add_parts(Table& table, const Judgement& judgement, std::optional<double> noise) {
  if (judgement.by_workers.size() > 1)
    for (const auto& [workers, summary] : judgement.by_workers)
      add_row(table, fmt::format("  {} workers", workers), summary, noise);
  if (judgement.by_octave.size() > 1)
    for (const auto& [octave, summary] : judgement.by_octave)
      add_row(table, octave < 0 ? std::string("  no size") : fmt::format("  from 2^{} B", octave), summary,
              noise);
}

/// Noise of one measurement, which no prediction can be nearer than.
std::optional<double> floor_of(const Calibration& calibration) {
  return calibration.noise_known && calibration.noise > 0 ? std::optional(calibration.noise) : std::nullopt;
}

std::string test_text(const Calibration& calibration, std::size_t number) {
  const std::optional<double> noise = floor_of(calibration);
  const TestSpec& test = calibration.spec.tests[number];
  const std::vector<Judgement>& ways = calibration.tests[number];
  std::string text = fmt::format(
      "\nTest \"{}\"{}{}\n", test.name, test.octaves_equal ? ", each octave of sizes weighted equally" : "",
      test.goal > 0 ? fmt::format("; {}: {}", test.source.empty() ? "goal" : test.source, percent(test.goal))
                    : "");
  if (ways.front().points.empty()) return text + "  no measurements\n";
  Table table = errors_table(!ways.front().all.inside.empty(), noise);
  add_row(table, ways.front().way, ways.front().all, noise);
  add_parts(table, ways.front(), noise);
  for (std::size_t i = 1; i < ways.size(); ++i) add_row(table, ways[i].way, ways[i].all, noise);
  text += text_rows(table);
  const JudgedPoint* worst = nullptr;
  for (const JudgedPoint& each : ways.front().points)
    if (each.point == ways.front().all.worst_point) worst = &each;
  if (worst != nullptr)
    text += fmt::format("worst: {}: measured {:.5g}, predicted {:.5g} ({})\n",
                        point_text(calibration.points, worst->point), worst->measured, worst->predicted,
                        signed_percent(worst->error()));
  return text;
}

OrderedJson summary_json(const ErrorSummary& summary, double noise) {
  OrderedJson json = {{"count", summary.count}, {"mean", summary.mean},   {"median", summary.median},
                      {"p95", summary.p95},     {"worst", summary.worst}, {"bias", summary.bias}};
  if (noise > 0) json["mean_to_noise"] = summary.mean / noise;
  for (const auto& [level, share] : summary.inside) json["inside"][fmt::format("{:g}", level)] = share;
  return json;
}

OrderedJson judgement_json(const Points& points, const Judgement& judgement) {
  const double noise = judgement.points.empty() ? 0 : judgement.points.front().noise;
  OrderedJson json = {{"way", judgement.way}, {"errors", summary_json(judgement.all, noise)}};
  for (const auto& [workers, summary] : judgement.by_workers)
    json["by_workers"][std::to_string(workers)] = summary_json(summary, noise);
  for (const auto& [octave, summary] : judgement.by_octave)
    if (octave >= 0) json["by_octave"][std::to_string(octave)] = summary_json(summary, noise);
  json["points"] = OrderedJson::array();
  for (const JudgedPoint& each : judgement.points) {
    const Measurement& measurement = points.points[each.point].measurement;
    OrderedJson point = {{"quantity", measurement.quantity},
                         {"operation", measurement.operation},
                         {"workers", measurement.workers},
                         {"bytes", measurement.bytes},
                         {"labels", measurement.labels},
                         {"source", measurement.source},
                         {"line", measurement.line},
                         {"measured", each.measured},
                         {"predicted", each.predicted},
                         {"error", each.error()},
                         {"noise", each.noise}};
    for (const Interval& interval : each.intervals)
      point["intervals"].push_back(
          {{"level", interval.level}, {"low", interval.low}, {"high", interval.high}});
    json["points"].push_back(std::move(point));
  }
  return json;
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  std::string text = fmt::format("{}: {} measurements, {} fitted\n\n", calibration.spec.name,
                                 calibration.points.points.size(), calibration.fit.points.size());
  text += models_text(calibration) + "\n" + numbers_text(calibration);
  text += fmt::format(
      "\nIntervals: {} draws of {}; {}; {}\n", calibration.uncertainty.draws.size(),
      calibration.uncertainty.resampled,
      calibration.uncertainty.parts > 1
          ? fmt::format("the model's own error {} (standard deviation, from {} parts left out)",
                        percent(calibration.uncertainty.model_sigma()), calibration.uncertainty.parts)
          : std::string("the model's own error is unknown"),
      calibration.noise_known
          ? fmt::format("noise of one measurement {}", percent(calibration.noise))
          : std::string("no measurement was repeated, so the noise of one measurement is unknown"));
  Table fit = errors_table(!calibration.fit.all.inside.empty(), floor_of(calibration));
  add_row(fit, "what was fitted", calibration.fit.all, floor_of(calibration));
  text += "\n" + text_rows(fit);
  for (std::size_t t = 0; t < calibration.tests.size(); ++t) text += test_text(calibration, t);
  for (const std::string& warning : calibration.warnings) text += "Note: " + warning + "\n";
  return text;
}

nlohmann::ordered_json calibration_json(const Calibration& calibration) {
  OrderedJson json = {
      {"schema_version", 1}, {"name", calibration.spec.name}, {"spec", calibration.spec.file}};
  for (const ModelResult& each : calibration.models) {
    OrderedJson model = {{"name", each.name}, {"loss", each.fitted.loss}};
    model["left_out_error"] =
        std::isfinite(each.left_out_error) ? OrderedJson(each.left_out_error) : OrderedJson();
    json["models"].push_back(std::move(model));
  }
  json["chosen"] = calibration.model().name;
  for (const NumberInterval& each : number_intervals(calibration, 0.9)) {
    OrderedJson number = {{"pointer", each.pointer}, {"value", each.value}};
    if (each.known) number.update({{"low", each.low}, {"high", each.high}, {"level", 0.9}});
    json["parameters"].push_back(std::move(number));
  }
  json["uncertainty"] = {{"draws", calibration.uncertainty.draws.size()},
                         {"resampled", calibration.uncertainty.resampled},
                         {"model_error", calibration.uncertainty.model_sigma()},
                         {"parts_left_out", calibration.uncertainty.parts},
                         {"noise", calibration.noise_known ? OrderedJson(calibration.noise) : OrderedJson()}};
  json["fit"] = judgement_json(calibration.points, calibration.fit);
  json["tests"] = OrderedJson::array();
  for (std::size_t t = 0; t < calibration.tests.size(); ++t) {
    const TestSpec& test = calibration.spec.tests[t];
    OrderedJson one = {{"name", test.name},
                       {"judge", test.judge},
                       {"error", judged_by(calibration.tests[t].front().all, test.judge)}};
    if (test.goal > 0) one["goal"] = test.goal;
    for (const Judgement& way : calibration.tests[t])
      one["ways"].push_back(judgement_json(calibration.points, way));
    json["tests"].push_back(std::move(one));
  }
  json["warnings"] = calibration.warnings;
  return json;
}

}  // namespace simsgd

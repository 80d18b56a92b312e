#include "analysis/frame/measure.hpp"

#include <algorithm>
#include <set>

#include "sim/base/units.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::frame {

namespace {

constexpr const char* kTimeToTarget = "time_to_target_s";
const std::vector<std::string> kCurves = {"train_loss", "test_loss", "test_accuracy", "consensus_distance"};

bool is_missed_target(const Frame& frame, const ResultPoint& point) {
  return point.status == RunStatus::ok && !point.metrics.contains(kTimeToTarget) && has_target(frame, point);
}

std::optional<double> mean_of(const std::vector<CurvePoint>& curve) {
  if (curve.empty()) return std::nullopt;
  double sum = 0;
  for (const CurvePoint& each : curve) sum += each.value;
  return sum / static_cast<double>(curve.size());
}

/// "test_accuracy@161s" or "@mean".
std::optional<Measure> parse_curve(const std::string& name, std::vector<InputError>& errors) {
  const std::size_t at = name.find('@');
  Measure measure;
  measure.name = name;
  measure.curve = name.substr(0, at);
  const std::string place = name.substr(at + 1);
  const std::size_t before = errors.size();
  if (std::find(kCurves.begin(), kCurves.end(), measure.curve) == kCurves.end())
    errors.push_back(
        {"--metric", "", "is not a curve", measure.curve, which_there_are(measure.curve, kCurves)});
  if (place != "mean") {
    const ParsedQuantity time = parse_quantity(place, Dimension::time_s);
    measure.at_s = time.value;
    if (!time.ok || !(time.value > 0))
      errors.push_back({"--metric", "", "is not a simulated time above 0", place,
                        "Write " + measure.curve + "@60s, or " + measure.curve + "@mean for its mean"});
  }
  if (errors.size() > before) return std::nullopt;
  measure.unit = "1";
  measure.better = measure.curve == "test_accuracy" ? Better::more : Better::less;
  return measure;
}

/// Whether any of the points has, or misses, it.
bool is_measured(const Frame& frame, const std::string& name) {
  const auto& points = frame.rows();
  return std::any_of(points.begin(), points.end(),
                     [&](const ResultPoint* point) { return point->metrics.contains(name); }) ||
         (name == kTimeToTarget && std::any_of(points.begin(), points.end(), [&](const ResultPoint* point) {
            return is_missed_target(frame, *point);
          }));
}

bool none_ended(const Frame& frame) {
  return std::none_of(frame.rows().begin(), frame.rows().end(),
                      [](const ResultPoint* point) { return point->status == RunStatus::ok; });
}

}  // namespace

std::optional<double> value_at(const std::vector<CurvePoint>& curve, double time_s) {
  const auto after = std::find_if(curve.begin(), curve.end(),
                                  [time_s](const CurvePoint& each) { return each.time_s > time_s; });
  if (after == curve.begin()) return std::nullopt;
  const CurvePoint& from = *(after - 1);
  if (after == curve.end()) return from.value;
  return from.value + (after->value - from.value) * (time_s - from.time_s) / (after->time_s - from.time_s);
}

Measure measure_of_metric(const std::string& name) {
  for (const Metric& metric : metrics())
    if (metric.name == name) return {name, "", 0, metric.unit, metric.better};
  return {name, "", 0, "", Better::neither};
}

std::vector<std::string> metrics_of(const std::vector<const ResultPoint*>& points) {
  std::set<std::string> had;
  for (const ResultPoint* point : points)
    for (const auto& each : point->metrics) had.insert(each.first);
  std::vector<std::string> names;
  for (const Metric& metric : metrics())
    if (had.erase(metric.name) > 0) names.push_back(metric.name);
  names.insert(names.end(), had.begin(), had.end());
  return names;
}

std::vector<Measure> parse_measures(const Frame& frame, const std::vector<std::string>& names,
                                    std::vector<InputError>& errors) {
  std::vector<Measure> measures;
  for (const std::string& name : names) {
    if (name.find('@') != std::string::npos) {
      if (const auto measure = parse_curve(name, errors)) measures.push_back(*measure);
      continue;
    }
    measures.push_back(measure_of_metric(name));
    // Where no run has ended with a result that is what there is to say, and no name is wrong for it.
    if (is_measured(frame, name) || (none_ended(frame) && !measures.back().unit.empty())) continue;
    const std::string problem = measures.back().unit.empty()
                                    ? "is not a metric"
                                    : "is a metric that no run of " + frame.study().name + " has";
    errors.push_back({"--metric", "", problem, name, which_there_are(name, metrics_of(frame.rows()))});
  }
  return measures;
}

std::vector<const ResultPoint*> points_of(const std::vector<Sample>& samples) {
  std::vector<const ResultPoint*> points;
  for (const Sample& each : samples)
    if (each.kind == Sample::Kind::value || each.kind == Sample::Kind::censored) points.push_back(each.point);
  return points;
}

bool has_target(const Frame& frame, const ResultPoint& point) {
  const nlohmann::ordered_json scenario = frame.details().scenario(point.key);
  return scenario.is_object() && scenario.contains("target") && !scenario["target"].is_null();
}

Sample sample_of(const Frame& frame, const ResultPoint& point, const Measure& measure) {
  if (!point.status) return {&point, Sample::Kind::not_run, 0};
  if (point.status != RunStatus::ok) return {&point, Sample::Kind::failed, 0};
  if (!measure.curve.empty()) {
    const std::vector<CurvePoint> curve = frame.details().curve(point.key, measure.curve);
    const std::optional<double> value = measure.at_s > 0 ? value_at(curve, measure.at_s) : mean_of(curve);
    return value ? Sample{&point, Sample::Kind::value, *value} : Sample{&point, Sample::Kind::none, 0};
  }
  if (const auto found = point.metrics.find(measure.name); found != point.metrics.end())
    return {&point, Sample::Kind::value, found->second};
  const auto end = point.metrics.find("simulated_time_s");
  if (measure.name == kTimeToTarget && end != point.metrics.end() && has_target(frame, point))
    return {&point, Sample::Kind::censored, end->second};
  return {&point, Sample::Kind::none, 0};
}

std::vector<Sample> samples_of(const Frame& frame, const std::vector<const ResultPoint*>& points,
                               const Measure& measure) {
  std::vector<Sample> samples;
  for (const ResultPoint* point : points) samples.push_back(sample_of(frame, *point, measure));
  return samples;
}

}  // namespace simsgd::frame

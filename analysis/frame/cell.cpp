#include "analysis/frame/cell.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/data_sheet.hpp"
#include "sim/base/units.hpp"

namespace simsgd::frame {

namespace {

constexpr double kRounding = 1e-12;  // relative
constexpr const char* kShownByEvaluations =
    "time_to_target_s";  // learned: evaluations may show it at equal times

bool is_same(const std::map<std::string, double>& one, const std::map<std::string, double>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
    const double size = std::max(std::fabs(a.second), std::fabs(b.second));
    return a.first == b.first && std::fabs(a.second - b.second) <= kRounding * size;
  });
}

/// Of these metrics those that there are.
std::map<std::string, double> those_of(const std::map<std::string, double>& all,
                                       const std::vector<std::string>& names) {
  std::map<std::string, double> found;
  for (const std::string& name : names)
    if (const auto metric = all.find(name); metric != all.end()) found.insert(*metric);
  return found;
}

/// Whether any object below has such a key, and not 0 or null there.
bool has_key(const OrderedJson& json, const std::string& key) {
  if (!json.is_structured()) return false;
  return std::any_of(json.begin(), json.end(), [&](const OrderedJson& each) { return has_key(each, key); }) ||
         (json.is_object() && json.contains(key) && json[key] != 0 && !json[key].is_null());
}

/// Of a resolved scenario.
bool draws_nothing(const OrderedJson& scenario) {
  if (!scenario.is_object() || !scenario.contains("algorithm")) return false;
  const auto at = [&](const char* pointer) {
    return scenario.value(OrderedJson::json_pointer(pointer), OrderedJson());
  };
  const OrderedJson stragglers = at("/stragglers"), factor = at("/workload/compute_factor"),
                    placement = at("/cluster/placement");
  return at("/learner").is_null() && stragglers.empty() && (factor.is_null() || factor.is_number()) &&
         at("/workload/compute_time").is_null() && (!placement.is_object() || placement.contains("seed")) &&
         !has_key(scenario, "jitter") && !has_key(at("/failures"), "mean_time_between") &&
         at("/algorithm/graph").is_null();
}

void summarise_complete(const std::vector<double>& values, const CellQuestion& question, bool deterministic,
                        CellSummary& summary) {
  using namespace statistics;
  const bool median = question.statistic == CellQuestion::Statistic::median;
  const bool student = question.method == CellQuestion::Method::student;
  const Estimate estimate = median    ? order_median(values)
                            : student ? student_mean(values)
                                      : bootstrap_mean(values);
  summary.value = estimate.value;
  summary.statistic = median ? "median" : "mean";
  if (deterministic) {
    summary.method = "deterministic";
    return;
  }
  summary.interval = estimate.interval;
  if (summary.interval) summary.method = median ? "order statistics" : student ? "Student" : "bootstrap";
}

void summarise_censored(const std::vector<statistics::Observation>& observations,
                        const CellQuestion& question, std::optional<double> tau, CellSummary& summary) {
  using namespace statistics;
  if (question.statistic == CellQuestion::Statistic::median) {
    for (const Observation& each : observations) summary.seen_until = std::max(summary.seen_until, each.time);
    const SurvivalMedian median = survival_median(observations);
    summary.statistic = "median";
    summary.value = median.value;
    if (median.value) summary.interval = median.interval;
  } else {
    summary.statistic = "restricted mean";
    summary.seen_until = tau.value_or(0);
    if (tau && summary.arrived < summary.count()) summary.until = tau;
    if (summary.arrived == 0) return;
    const RestrictedMean mean = restricted_mean(observations, tau);
    summary.value = mean.value;
    summary.interval = mean.interval;
  }
  if (summary.interval) summary.method = "Kaplan-Meier";
}

}  // namespace

bool is_deterministic(const ScenarioOf& scenario_of, const std::string& metric,
                      const std::vector<const ResultPoint*>& runs) {
  if (runs.empty()) return false;
  const std::map<std::string, double>& first = runs.front()->metrics;
  if (runs.size() == 1) {
    const auto straggle = first.find("straggle_s");  // tells most of them without reading their scenarios
    const bool drawn =
        first.contains("train_loss_final") || (straggle != first.end() && straggle->second > 0);
    return !drawn && draws_nothing(scenario_of(runs.front()->key));
  }
  if (!goes_with_time(metric) || metric == kShownByEvaluations || !first.contains(metric))
    return std::ranges::all_of(runs, [&](const ResultPoint* each) { return is_same(each->metrics, first); });
  const std::map<std::string, double> told = those_of(first, {metric, "compute_s", "straggle_s"});
  return std::ranges::all_of(runs, [&](const ResultPoint* each) {
    return is_same(those_of(each->metrics, {metric, "compute_s", "straggle_s"}), told);
  });
}

std::optional<double> off_by(const ScenarioOf& scenario_of, const std::string& metric,
                             const std::vector<const ResultPoint*>& one,
                             const std::vector<const ResultPoint*>& other) {
  if (!is_deterministic(scenario_of, metric, one) || !is_deterministic(scenario_of, metric, other))
    return std::nullopt;
  const std::map<std::string, double>&a = one.front()->metrics, &b = other.front()->metrics;
  const auto first = a.find(metric), second = b.find(metric);
  if (first == a.end() || second == b.end() || !goes_with_time(metric)) return 0;
  const OrderedJson scenario = scenario_of(one.front()->key);
  const OrderedJson left_out =
      scenario.is_object()
          ? scenario.value(OrderedJson::json_pointer("/cluster/calibration/left_out/half"), OrderedJson())
          : OrderedJson();
  if (left_out.is_number())
    return std::expm1(left_out.get<double>()) * std::max(std::fabs(first->second), std::fabs(second->second));
  return sheet_error_of_difference(a, b) * std::fabs(first->second - second->second);
}

statistics::Runs runs_of(const std::vector<Sample>& samples) {
  statistics::Runs runs;
  for (const Sample& each : samples) {
    const bool arrived = each.kind == Sample::Kind::value;
    if (arrived || each.kind == Sample::Kind::censored)
      runs[each.point->seed.value_or(0)] = {each.value, arrived};
  }
  return runs;
}

statistics::Contest contest(const Frame& frame, const Measure& measure,
                            const std::vector<std::vector<Sample>>& cells,
                            const std::vector<std::optional<double>>& shown) {
  std::vector<statistics::Runs> runs;
  for (const std::vector<Sample>& cell : cells) runs.push_back(runs_of(cell));
  const auto model_error = [&](std::size_t one, std::size_t other) {
    return off_by(frame.details().scenario, measure.name, points_of(cells[one]), points_of(cells[other]));
  };
  return statistics::contest(runs, measure.better, model_error, shown);
}

CellSummary summarise(const std::vector<Sample>& samples, const CellQuestion& question,
                      std::optional<double> tau, bool deterministic) {
  const bool mean = question.statistic == CellQuestion::Statistic::mean;
  CellSummary summary;
  std::vector<double> values;
  std::vector<statistics::Observation> observations;
  for (const Sample& each : samples) {
    const bool arrived = each.kind == Sample::Kind::value, censored = each.kind == Sample::Kind::censored;
    if (arrived) values.push_back(each.value);
    if (arrived || censored) observations.push_back({each.value, arrived});
    summary.arrived += arrived && (!mean || !tau || each.value <= *tau) ? 1U : 0U;
    summary.censored += censored ? 1 : 0;
    summary.none += each.kind == Sample::Kind::none ? 1 : 0;
    summary.failed += each.kind == Sample::Kind::failed ? 1 : 0;
    summary.not_run += each.kind == Sample::Kind::not_run ? 1 : 0;
  }
  summary.values = values.size();
  if (summary.censored > 0 || (mean && summary.arrived < summary.values))
    summarise_censored(observations, question, tau, summary);
  else if (!values.empty())
    summarise_complete(values, question, deterministic, summary);
  return summary;
}

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
  if (std::ranges::find(kCurves, measure.curve) == kCurves.end())
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
  return std::ranges::any_of(points,
                             [&](const ResultPoint* point) { return point->metrics.contains(name); }) ||
         (name == kTimeToTarget && std::ranges::any_of(points, [&](const ResultPoint* point) {
            return is_missed_target(frame, *point);
          }));
}

bool none_ended(const Frame& frame) {
  return std::ranges::none_of(frame.rows(),
                              [](const ResultPoint* point) { return point->status == RunStatus::ok; });
}

}  // namespace

std::optional<double> value_at(const std::vector<CurvePoint>& curve, double time_s) {
  const auto after =
      std::ranges::find_if(curve, [time_s](const CurvePoint& each) { return each.time_s > time_s; });
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

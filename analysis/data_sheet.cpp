#include "analysis/data_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/record.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using SheetEnds = std::pair<double, double>;

bool is_kernel(Activity activity) {
  return activity == Activity::selection || activity == Activity::factor || activity == Activity::inverse;
}

bool is_noted(const Job& job, const char* about) {
  return std::ranges::any_of(job.notes, [about](const Note& note) { return note.about == about; });
}

/// Of the step that this one is taken in proportion from, how many times its batch.
double measured_batches(const nlohmann::json& workload, const Job& job) {
  const double samples = static_cast<double>(job.workload.batch) / job.workload.micro_batches;
  double nearest = 0;
  for (const nlohmann::json& each : workload.value("one_device", nlohmann::json::array())) {
    if (each.at("device") != job.cluster.device.name || !each.contains("batch")) continue;
    const double times = each.at("batch").get<double>() / samples;
    if (nearest == 0 || std::fabs(std::log(times)) < std::fabs(std::log(nearest))) nearest = times;
  }
  // Else the layers have times of their own.
  return nearest > 0 ? nearest : workload.value("layer_times_batch", double(job.workload.batch)) / samples;
}

SheetComputing computing_of(const nlohmann::json& resolved, const Job& job) {
  if (is_noted(job, "modelled-device-time")) return {kSheetModelled, "modelled here"};
  if (is_noted(job, "scaled-device-time")) return {kSheetModelled, "scaled from another device here"};
  if (!is_noted(job, "extrapolated-device-time")) return {kSheetMeasured, "measured on one device here"};
  const double batches = measured_batches(resolved.at("workload"), job);
  return {sheet_in_proportion(batches), fmt::format("scaled from {:.3g} times the batch here", batches)};
}

/// `seconds_of`: a metric by its name, 0 where there is none.
template <class SecondsOf>
SheetStep parts_of_step(const SecondsOf& seconds_of) {
  SheetStep step;
  for (const ActivityInfo& each : activities()) {
    const double seconds = seconds_of(activity_metric(each.activity));
    if (is_kernel(each.activity))
      step.kernels_s += seconds;
    else if (each.activity == Activity::host || each.activity == Activity::communication)
      step.exposed_s += seconds;
    else
      step.computing_s += seconds;
  }
  for (const TrafficInfo& each : traffics()) step.hidden_s += seconds_of(hidden_metric(each.traffic));
  return step;
}

OrderedJson told(const SheetRatios& ratios) {
  OrderedJson levels = OrderedJson::array();
  for (std::size_t i = 0; i < kIntervalLevels.size(); ++i)
    levels.push_back({{"level", kIntervalLevels[i]}, {"low", ratios.low[i]}, {"high", ratios.high[i]}});
  return levels;
}

/// The reverse.
SheetRatios ratios_of(const OrderedJson& levels) {
  SheetRatios ratios;
  for (std::size_t i = 0; i < kIntervalLevels.size(); ++i) {
    ratios.low[i] = levels.at(i).at("low");
    ratios.high[i] = levels.at(i).at("high");
  }
  return ratios;
}

double stop_time_s(const OrderedJson& scenario) {
  const OrderedJson time = scenario.value(OrderedJson::json_pointer("/stop/time"), OrderedJson());
  if (time.is_number()) return time.get<double>();
  return time.is_string() ? parse_quantity(time.get<std::string>(), Dimension::time_s).value
                          : std::numeric_limits<double>::infinity();
}

/// The ends of a metric: as those of the part of a step that it is, else as the whole step's.
class MetricEnds {
 public:
  explicit MetricEnds(const OrderedJson& document)
      : metrics_(document.at("metrics")),
        step_(parts_of_step([this](const std::string& name) { return metrics_.value(name, 0.0); })),
        ends_by_clock_(metrics_.value("simulated_time_s", 0.0) >=
                       stop_time_s(document.at("scenario")) * (1 - 1e-12)) {
    const OrderedJson& told_of = document.at("uncertainty").at("data_sheets");
    step_.computing = ratios_of(told_of.at("computing"));
    step_.communication_known = !told_of.contains("communication");
  }

  SheetEnds of(const std::string& name, double value, std::size_t level) const {
    if (name == "exchange_s" || name == activity_metric(Activity::host) ||
        name == activity_metric(Activity::communication))
      return of_communication(value, level, step_.hidden_s);
    for (const TrafficInfo& each : traffics()) {
      if (!name.starts_with(std::string(each.name) + "_communication")) continue;
      const std::string hidden = hidden_metric(each.traffic);
      return of_communication(value, level, name == hidden ? 0 : metrics_.value(hidden, 0.0));
    }
    for (const ActivityInfo& each : activities())
      if (name == activity_metric(each.activity)) {
        const SheetRatios& ratios = is_kernel(each.activity) ? kSheetModelled : step_.computing;
        return {value * ratios.low[level], value * ratios.high[level]};
      }
    if (!(step_.step_s() > 0) || (ends_by_clock_ && (name == "simulated_time_s" || name == "cost_usd")))
      return {value, value};
    if (name == "scaling_efficiency") return of_efficiency(value, level);
    const double low = 1 - step_.below_s(level) / step_.step_s(),
                 high = 1 + step_.above_s(level) / step_.step_s();
    return name == "throughput_samples_per_s" ? SheetEnds{value / high, value / low}
                                              : SheetEnds{value * low, value * high};
  }

 private:
  /// `hidden_s`: of it, which shows where it takes longer.
  SheetEnds of_communication(double value, std::size_t level, double hidden_s) const {
    if (step_.communication_known) return {value, value};
    const double high = kSheetCommunication.high[level];
    return {value - step_.less_exposed_s(value, level), value * high + hidden_s * (high - 1)};
  }

  /// Computing is as far off on the one device: what is beside it, over computing, tells.
  SheetEnds of_efficiency(double value, std::size_t level) const {
    if (!(step_.computing_s > 0)) return {value, value};
    SheetStep beside = step_;
    beside.computing = {{1, 1}, {1, 1}};
    const double step_s = step_.step_s(), beside_s = step_s - step_.computing_s,
                 more_s = std::hypot(beside.above_s(level), beside_s * (1 / step_.computing.low[level] - 1)),
                 less_s = std::hypot(beside.below_s(level), beside_s * (1 - 1 / step_.computing.high[level]));
    return {value * step_s / (step_s + more_s), value * step_s / (step_s - std::min(less_s, beside_s))};
  }

  const OrderedJson& metrics_;
  SheetStep step_;
  bool ends_by_clock_;
};

}  // namespace

SheetRatios sheet_in_proportion(double batches) {
  SheetRatios ratios = kSheetMeasured;
  for (std::size_t i = 0; i < kIntervalLevels.size(); ++i)
    (batches > 1 ? ratios.high : ratios.low)[i] *= 1 + kFixedShare[i] * (batches - 1);
  return ratios;
}

bool goes_with_time(const std::string& name) {
  for (const Metric& metric : metrics())
    if (metric.name == name)
      return metric.unit == "s" || metric.unit == "1/s" || metric.unit == "USD" || metric.unit == "J" ||
             name == "scaling_efficiency";
  return false;
}

double SheetStep::less_exposed_s(double seconds, std::size_t level) const {
  if (communication_known) return 0;
  return std::min(seconds * (1 - kSheetCommunication.low[level]),
                  seconds * (1 - kSheetLeastCommunication) + computing_s + kernels_s);
}

double SheetStep::below_s(std::size_t level) const {
  return std::hypot(computing_s * (1 - computing.low[level]), kernels_s * (1 - kSheetModelled.low[level]),
                    less_exposed_s(exposed_s, level));
}

double SheetStep::above_s(std::size_t level) const {
  return std::hypot(computing_s * (computing.high[level] - 1), kernels_s * (kSheetModelled.high[level] - 1),
                    communication_known ? 0 : (exposed_s + hidden_s) * (kSheetCommunication.high[level] - 1));
}

double sheet_error_of_difference(const std::map<std::string, double>& one,
                                 const std::map<std::string, double>& other) {
  constexpr std::size_t kHalf = 0;  // of kIntervalLevels
  const auto step_of_run = [](const std::map<std::string, double>& metrics) {
    return parts_of_step([&](const std::string& name) {
      const auto found = metrics.find(name);
      return found == metrics.end() ? 0.0 : found->second;
    });
  };
  const SheetStep a = step_of_run(one), b = step_of_run(other);
  const double difference_s = b.step_s() - a.step_s();
  if (difference_s == 0) return 0;
  const SheetStep &faster = difference_s > 0 ? a : b, &slower = difference_s > 0 ? b : a;
  return std::max(faster.above_s(kHalf), slower.below_s(kHalf)) / std::fabs(difference_s);
}

std::string data_sheet_note(const std::optional<SheetComputing>& computing) {
  const std::string communicate =
      fmt::format("{:.2g} to {:.2g} times as long to communicate", kSheetCommunication.low.back(),
                  kSheetCommunication.high.back());
  const std::string opening = "this cluster is not calibrated, so intervals come from data sheets: ";
  if (!computing)
    return fmt::format(
        "{}nine tenths of published operations took {:.2g} to {:.2g} times as long; the lower end is the least that was measured without overlap",
        opening, kSheetLeastCommunication, kSheetCommunication.high.back());
  return fmt::format(
      "{}nine tenths of published steps took {:.2g} to {:.2g} times as long to compute ({}), and {}; the lower end keeps {:.2g} of the time lost to communication, less what computing could hide",
      opening, computing->ratios.low.back(), computing->ratios.high.back(), computing->source, communicate,
      kSheetLeastCommunication);
}

void tell_data_sheets(const nlohmann::json& resolved, const Job& job, bool communication_known,
                      OrderedJson& document) {
  const SheetComputing computing = computing_of(resolved, job);
  OrderedJson& told_of = document["uncertainty"]["data_sheets"];
  told_of = {{"computing", told(computing.ratios)}, {"kernels", told(kSheetModelled)}};
  if (communication_known) return;
  told_of["communication"] = told(kSheetCommunication);
  document["notes"].push_back(data_sheet_note(computing));
}

void add_data_sheet_intervals(OrderedJson& document) {
  const MetricEnds ends(document);
  OrderedJson all = OrderedJson::object();
  const OrderedJson drawn = document.value("intervals", OrderedJson::object());
  for (const auto& metric : document.at("metrics").items()) {
    if (!metric.value().is_number() || !goes_with_time(metric.key())) continue;
    const double value = metric.value().get<double>();
    for (std::size_t i = 0; i < kIntervalLevels.size(); ++i) {
      auto [low, high] = ends.of(metric.key(), value, i);
      if (drawn.contains(metric.key())) {
        const OrderedJson& own = drawn.at(metric.key()).at(i);
        low = std::max(0.0, value - std::hypot(value - low, value - own.at("low").get<double>()));
        high = value + std::hypot(high - value, own.at("high").get<double>() - value);
      }
      all[metric.key()].push_back({{"level", kIntervalLevels[i]}, {"low", low}, {"high", high}});
    }
  }
  document["intervals"] = std::move(all);
}

bool follows_from_data_sheets(const OrderedJson& document) {
  const auto uncertainty = document.find("uncertainty");
  return uncertainty != document.end() && uncertainty->contains("data_sheets") &&
         !uncertainty->contains("draws");
}

std::vector<Interval> data_sheet_intervals(double operation_s) {
  const SheetStep step{.exposed_s = operation_s};
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < kIntervalLevels.size(); ++i)
    intervals.push_back({kIntervalLevels[i], operation_s - step.below_s(i), operation_s + step.above_s(i)});
  return intervals;
}

}  // namespace simsgd

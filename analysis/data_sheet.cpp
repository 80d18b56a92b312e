#include "analysis/data_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/activities.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;
using SheetEnds = std::pair<double, double>;

const SheetRatios& of_computing(bool modelled) { return modelled ? kSheetModelled : kSheetMeasured; }

bool is_kernel(Activity activity) {
  return activity == Activity::selection || activity == Activity::factor || activity == Activity::inverse;
}

/// Whether no step with this batch was measured on this device.
bool is_modelled(const Job& job) {
  return std::any_of(job.notes.begin(), job.notes.end(), [](const Note& note) {
    return note.about == "modelled-device-time" || note.about == "extrapolated-device-time";
  });
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

SheetStep step_of(const Job& job, bool communication_known, const OrderedJson& metrics) {
  SheetStep step = parts_of_step([&](const std::string& name) { return metrics.value(name, 0.0); });
  step.modelled = is_modelled(job);
  step.communication_known = communication_known;
  return step;
}

/// The ends of a metric: as those of the part of a step that it is, else as the whole step's.
class MetricEnds {
 public:
  MetricEnds(const Job& job, bool communication_known, const OrderedJson& metrics)
      : metrics_(metrics),
        step_(step_of(job, communication_known, metrics)),
        ends_by_clock_(metrics.value("simulated_time_s", 0.0) >= job.stop.time_s * (1 - 1e-12)) {}

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
        const SheetRatios& ratios = is_kernel(each.activity) ? kSheetModelled : of_computing(step_.modelled);
        return {value * ratios.low[level], value * ratios.high[level]};
      }
    if (!(step_.step_s() > 0) || (ends_by_clock_ && (name == "simulated_time_s" || name == "cost_usd")))
      return {value, value};
    const double low = 1 - step_.below_s(level) / step_.step_s(),
                 high = 1 + step_.above_s(level) / step_.step_s();
    const bool is_rate = name == "throughput_samples_per_s" || name == "scaling_efficiency";
    return is_rate ? SheetEnds{value / high, value / low} : SheetEnds{value * low, value * high};
  }

  const SheetStep& step() const { return step_; }

 private:
  /// `hidden_s`: of it, which shows where it takes longer.
  SheetEnds of_communication(double value, std::size_t level, double hidden_s) const {
    if (step_.communication_known) return {value, value};
    const double high = kSheetCommunication.high[level];
    return {value - step_.less_exposed_s(value, level), value * high + hidden_s * (high - 1)};
  }

  const OrderedJson& metrics_;
  SheetStep step_;
  bool ends_by_clock_;
};

OrderedJson told(const SheetRatios& ratios) {
  OrderedJson levels = OrderedJson::array();
  for (std::size_t i = 0; i < kIntervalLevels.size(); ++i)
    levels.push_back({{"level", kIntervalLevels[i]}, {"low", ratios.low[i]}, {"high", ratios.high[i]}});
  return levels;
}

}  // namespace

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
  return std::hypot(computing_s * (1 - of_computing(modelled).low[level]),
                    kernels_s * (1 - kSheetModelled.low[level]), less_exposed_s(exposed_s, level));
}

double SheetStep::above_s(std::size_t level) const {
  return std::hypot(computing_s * (of_computing(modelled).high[level] - 1),
                    kernels_s * (kSheetModelled.high[level] - 1),
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

void add_data_sheet_intervals(const Job& job, bool communication_known, OrderedJson& document) {
  const OrderedJson& metrics = document.at("metrics");
  const MetricEnds ends(job, communication_known, metrics);
  OrderedJson all = OrderedJson::object();
  const OrderedJson drawn = document.value("intervals", OrderedJson::object());
  for (const auto& metric : metrics.items()) {
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
  const bool modelled = ends.step().modelled;
  OrderedJson& told_of = document["uncertainty"]["data_sheets"];
  told_of = {{"computing", told(of_computing(modelled))}, {"kernels", told(kSheetModelled)}};
  if (communication_known) return;
  told_of["communication"] = told(kSheetCommunication);
  document["notes"].push_back(fmt::format(
      "no draws of a calibration go with this cluster: intervals are a data sheet's, by which nine tenths of published steps take {:.2g} to {:.2g} times as long to compute ({}), and {:.2g} to {:.2g} times to communicate; the time lost to communication falls to {:.2g} of it at least, less what the computing could hide",
      of_computing(modelled).low.back(), of_computing(modelled).high.back(),
      modelled ? "modelled here" : "measured on one device here", kSheetCommunication.low.back(),
      kSheetCommunication.high.back(), kSheetLeastCommunication));
}

}  // namespace simsgd

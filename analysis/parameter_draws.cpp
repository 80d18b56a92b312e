#include "analysis/parameter_draws.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "scenarios/language/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/plugin.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

const std::string kCluster = "/cluster";
constexpr double kSame = 1e-5;  // relative: a file's six digits

/// The parts of a draw and of the standing value, number by number.
Json widened(const Json& standing, const Json& drawn, double factor) {
  if (drawn.is_number() && standing.is_number() && standing.get<double>() > 0 && drawn.get<double>() > 0) {
    const double value = standing.get<double>();
    return value * std::pow(drawn.get<double>() / value, factor);
  }
  if (drawn.type() != standing.type() || !drawn.is_structured() || drawn.size() != standing.size())
    return drawn;
  Json all = drawn;
  for (auto& part : all.items()) {
    const auto same =
        standing.is_object() ? standing.find(part.key()) : standing.begin() + std::stol(part.key());
    if (same != standing.end()) part.value() = widened(*same, part.value(), factor);
  }
  return all;
}

bool same_value(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  return std::fabs(a.get<double>() - b.get<double>()) <= kSame * std::fabs(b.get<double>());
}

/// Text such as "1 GB/s" as the number that it says.
Json in_units(const std::string& pointer, const Json& value) {
  return value.is_string() ? setting_value(pointer, value).value_or(value) : value;
}

std::string name_of(const DrawnSetting& setting) {
  return setting.name.empty() ? setting.pointer : fmt::format("{} ({})", setting.name, setting.pointer);
}

}  // namespace

bool is_calibrated(const Scenario& scenario) {
  const Json* calibration = value_at(scenario.resolved, "/cluster/calibration");
  return calibration != nullptr && (calibration->contains("draws") || calibration->contains("settings"));
}

std::vector<Interval> intervals_of(double value, std::vector<double> drawn, const Reach& reach) {
  std::erase_if(drawn, [](double each) { return std::isnan(each); });
  if (drawn.size() < 2 || !std::isfinite(value)) return {};
  std::ranges::sort(drawn);  // children end in any order
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < kIntervalLevels.size(); ++i) {
    const double level = kIntervalLevels[i], least = std::exp(reach[i]);
    intervals.push_back({level, std::min(quantile(drawn, (1 - level) / 2), value / least),
                         std::max(quantile(drawn, (1 + level) / 2), value * least)});
  }
  return intervals;
}

ParameterDraws::ParameterDraws(const Scenario& scenario, int number, double size,
                               const std::optional<std::string>& operation)
    : cluster_(scenario.resolved.at("cluster")),
      calibration_(options_of<CalibrationSection>(cluster_.at("calibration"))) {
  if (calibration_.draws.present())
    count_ = calibration_.draws.json().size();
  else if (!calibration_.settings.empty())
    count_ = calibration_.settings.front().draws.json().size();
  const MeasuredRange workers = calibration_.measured.workers.value_or(MeasuredRange{}),
                      bytes = calibration_.measured.bytes.value_or(MeasuredRange{});
  const double workers_beyond = doublings_beyond(workers.low, workers.high, number);
  // A model smaller than all measured ones needs no widening: its largest messages take most of the time, and
  // those were measured. If runs were fitted, the bytes are the size of the model.
  const bool of_runs = !calibration_.measured.workloads.value_or(std::vector<std::string>{}).empty();
  const bool no_matter = size < bytes.low && (!operation || of_runs);
  const double bytes_beyond = no_matter ? 0 : doublings_beyond(bytes.low, bytes.high, size);
  factor_ = std::max(1 + kWorkersGrowth * workers_beyond, growth_with_bytes(bytes_beyond));
  find_changed();
  choose_settings(scenario.resolved);
  note(number, size, operation.has_value());
  find_reach(scenario.resolved, workers_beyond, operation, size);
}

void ParameterDraws::find_reach(const Json& resolved, double workers_beyond,
                                const std::optional<std::string>& operation, double size) {
  const LeftOutErrors left_out = calibration_.left_out.value_or(LeftOutErrors{});
  const auto name = [&](const char* section) {
    const Json& own = resolved.at(section);  // "self" of a workload
    return (own.is_object() ? own.at("name") : own).get<std::string>();
  };
  int unlike = 0;
  if (!operation) {
    unlike +=
        is_unlike("workload", calibration_.measured.workloads, name("workload"), left_out.workloads) ? 1 : 0;
    unlike +=
        is_unlike("method", calibration_.measured.algorithms, name("algorithm"), left_out.algorithms) ? 1 : 0;
    unlike += is_unlike_batch(name("workload"), resolved.at("workload")) ? 1 : 0;
  }
  const MeasuredRange workers = calibration_.measured.workers.value_or(MeasuredRange{});
  Reach reach{left_out.half, left_out.nine_tenths},
      beside = operation ? reach_of_operation(*operation) : Reach{};
  double widening = factor_;
  // Among workers that were measured, left-out sizes say how far off other sizes are.
  if (operation && size > 0 && left_out.fitted && !(workers_beyond > 0) &&
      !calibration_.measured.sizes.empty()) {
    const double steps =
        std::ceil(doublings_to_nearest(calibration_.measured.sizes, size) / kSizeStep - kSame);
    reach = reach_at_size({left_out.fitted->half, left_out.fitted->nine_tenths}, reach, steps * kSizeStep,
                          left_out.fitted->doublings);
    for (double& each : beside) each *= widening;
    widening = 1;
  }
  reach_ = least_reach(reach, widening, workers.low == workers.high ? workers_beyond : 0, unlike, beside);
}

/// With a note.
Reach ParameterDraws::reach_of_operation(const std::string& operation) {
  const std::vector<std::string> fitted =
      calibration_.measured.operations.value_or(std::vector<std::string>{});
  const Reach reach = operation_reach(fitted, operation);
  if (reach.back() > 0)
    notes_.push_back(fmt::format(
        "{} was not fitted, only {}: intervals are as wide as the errors of such operations on four devices of the book",
        operation, fmt::join(fitted, ", ")));
  return reach;
}

/// With a note. Of a workload that was fitted with other batches alone.
bool ParameterDraws::is_unlike_batch(const std::string& name, const Json& workload) {
  for (const MeasuredBatches& each : calibration_.measured.batches) {
    if (each.workload != name || !workload.is_object()) continue;
    const double batch = workload.at("batch").get<double>();
    if (!batch_is_unlike(each.batches, batch)) return false;
    notes_.push_back(fmt::format(
        "{} was fitted with a batch of {}, and has {:g} here: a step's fixed cost and its overlap differ, so the error of its times is unknown",
        name, fmt::join(each.batches, ", "), batch));
    return true;
  }
  return false;
}

/// With a note. Whether nothing tells how far off predictions of it are: not fitted, and nothing like it left
/// out (`told`). Of a cluster that was fitted to collectives alone intervals are those of communication.
bool ParameterDraws::is_unlike(const char* what, const std::optional<std::vector<std::string>>& fitted,
                               const std::string& name, bool told) {
  if (!fitted || std::ranges::find(*fitted, name) != fitted->end()) return false;
  if (fitted->empty()) {
    if (notes_.empty() || !notes_.back().starts_with("no run was fitted"))
      notes_.emplace_back(
          "no run was fitted, only operations: intervals of communication come from the calibration, those of computing from data sheets");
    return false;
  }
  notes_.push_back(fmt::format(
      "no measurement of this {} was fitted ({} is not among {}): {}", what, name, fmt::join(*fitted, ", "),
      told
          ? "intervals are as wide as the errors of those that were left out of the fit"
          : "the error of its times is unknown, and intervals are as wide as the errors of networks that were left out of other fits"));
  return !told;
}

bool ParameterDraws::draws_seed() const {
  return std::ranges::any_of(settings_, [](const DrawnSetting& each) { return each.pointer == "/seed"; });
}

Scenario ParameterDraws::scenario(const Scenario& base, std::size_t k) const {
  Scenario drawn = base;
  for (const auto& [pointer, value] : values(base, k)) drawn.resolved[Json::json_pointer(pointer)] = value;
  return drawn;
}

std::vector<std::pair<std::string, Json>> ParameterDraws::values(const Scenario& base, std::size_t k) const {
  std::vector<std::pair<std::string, Json>> drawn;
  const auto put = [&](const std::string& at, const Json& value, bool wider) {
    const Json number = in_units(at, value);
    const Json* standing = value_at(base.resolved, at);
    Json drawn_value =
        wider && standing != nullptr ? widened(in_units(at, *standing), number, factor_) : number;
    if (drawn_value.is_number_float()) drawn_value = within_setting(at, drawn_value.get<double>());
    drawn.emplace_back(at, std::move(drawn_value));
  };
  if (calibration_.draws.present())
    for (const auto& [pointer, value] : calibration_.draws.json().at(k % count_).items()) {
      const std::string at = kCluster + pointer;
      if (is_changed(pointer) || value_at(base.resolved, at) == nullptr) continue;
      put(at, value, value.is_structured() || is_continuous(at));
    }
  for (const DrawnSetting& each : settings_)
    put(each.pointer, each.draws.json().at(k % count_), each.low.has_value());
  return drawn;
}

void ParameterDraws::find_changed() {
  for (const CalibratedNumber& each : calibration_.parameters) {
    const Json* found = value_at(cluster_, each.pointer);
    if (found == nullptr || !same_value(in_units(kCluster + each.pointer, *found), each.value))
      changed_.push_back(each.pointer);
  }
}

/// Those that go with this scenario. A setting whose value nobody gave, and which a rule gives, is drawn.
void ParameterDraws::choose_settings(const Json& resolved) {
  for (const DrawnSetting& each : calibration_.settings) {
    if (each.where.present() && !where_holds(each.where.json(), resolved)) continue;
    if (!has_setting(resolved, each.pointer)) continue;
    const Json* here = value_at(resolved, each.pointer);
    const Json fitted = in_units(each.pointer, each.value.json());
    if (here == nullptr || same_value(in_units(each.pointer, *here), fitted)) {
      settings_.push_back(each);
      continue;
    }
    notes_.push_back(fmt::format(
        "{} is {} here, and the cluster was calibrated with {}: it is not drawn, and intervals do not include its uncertainty",
        name_of(each), shown_value(*here), shown_value(fitted)));
  }
}

/// A value of a draw that holds a number which is another by now.
bool ParameterDraws::is_changed(const std::string& pointer) const {
  return std::ranges::any_of(
      changed_, [&](const std::string& each) { return each == pointer || each.starts_with(pointer + "/"); });
}

void ParameterDraws::note(int workers, double bytes, bool operation) {
  if (!changed_.empty())
    notes_.push_back(fmt::format(
        "{} of the cluster's calibrated numbers {} another value here ({}): intervals do not include {} uncertainty",
        changed_.size(), changed_.size() == 1 ? "has" : "have", changed_.front(),
        changed_.size() == 1 ? "its" : "their"));
  if (factor_ > 1.01)
    notes_.push_back(fmt::format(
        "the cluster was calibrated {}{}, and is used with {} workers and {} of {:.3g} bytes: parameters are drawn from a range {:.1f} times as wide",
        calibration_.measured.workers
            ? fmt::format("among {:g} to {:g} workers", calibration_.measured.workers->low,
                          calibration_.measured.workers->high)
            : "",
        calibration_.measured.bytes ? fmt::format(" on up to {:.3g} bytes", calibration_.measured.bytes->high)
                                    : "",
        workers, operation ? "an operation" : "a model", bytes, factor_));
}

}  // namespace simsgd

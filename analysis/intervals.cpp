#include "analysis/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/sweeps/child_pool.hpp"
#include "analysis/widening.hpp"
#include "scenarios/language/calibration_section.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/plugin.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kLevels[] = {0.5, 0.9};
constexpr double kSame = 1e-5;  // relative: a file's six digits

/// Times, and what follows from them.
bool goes_with_time(const std::string& name) {
  for (const Metric& metric : metrics())
    if (metric.name == name)
      return metric.unit == "s" || metric.unit == "1/s" || metric.unit == "USD" || metric.unit == "J" ||
             name == "scaling_efficiency";
  return false;
}

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

/// What may be drawn on this cluster.
class Draws {
 public:
  Draws(const Scenario& scenario, const Job& job) : cluster_(scenario.resolved.at("cluster")) {
    calibration_ = options_of<CalibrationSection>(cluster_.at("calibration"));
    const MeasuredRange workers = calibration_.measured.workers.value_or(MeasuredRange{}),
                        bytes = calibration_.measured.bytes.value_or(MeasuredRange{});
    const double by_workers =
        workers_widening(workers.low, workers.high, job.workers(), calibration_.model_error);
    const double by_bytes = range_widening(bytes.low, bytes.high, job.workload.model_bytes());
    // A smaller message than any measured is no matter: the largest ones take the time.
    const bool smaller =
        calibration_.measured.bytes && job.workload.model_bytes() < calibration_.measured.bytes->low;
    factor_ = std::max(by_workers, smaller ? 1.0 : by_bytes);
    find_changed();
    note(job);
  }

  std::size_t count() const { return calibration_.draws.present() ? calibration_.draws.json().size() : 0; }
  const std::vector<std::string>& notes() const { return notes_; }

  /// The scenario with the values of draw `k`.
  Scenario scenario(const Scenario& base, std::size_t k) const {
    Scenario drawn = base;
    Json& cluster = drawn.resolved["cluster"];
    for (const auto& [pointer, value] : calibration_.draws.json().at(k % count()).items()) {
      const Json::json_pointer at(pointer);
      if (is_changed(pointer) || !cluster.contains(at)) continue;
      cluster[at] = widened(cluster[at], value, factor_);
    }
    return drawn;
  }

 private:
  void find_changed() {
    for (const CalibratedNumber& each : calibration_.parameters) {
      const Json::json_pointer at(each.pointer);
      const Json* found = cluster_.contains(at) ? &cluster_[at] : nullptr;
      const bool same = found != nullptr && found->is_number() &&
                        std::fabs(found->get<double>() - each.value) <= kSame * std::fabs(each.value);
      if (!same) changed_.push_back(each.pointer);
    }
  }

  /// A value of a draw that holds a number which is another by now.
  bool is_changed(const std::string& pointer) const {
    return std::any_of(changed_.begin(), changed_.end(), [&](const std::string& each) {
      return each == pointer || each.starts_with(pointer + "/");
    });
  }

  void note(const Job& job) {
    if (!changed_.empty())
      notes_.push_back(
          fmt::format("{} of the cluster's calibrated numbers {} another value here ({}): intervals leave "
                      "{} uncertainty out",
                      changed_.size(), changed_.size() == 1 ? "has" : "have", changed_.front(),
                      changed_.size() == 1 ? "its" : "their"));
    if (factor_ > 1.01)
      notes_.push_back(fmt::format(
          "the cluster was calibrated {}{}, and is used with {} workers and a model of {:.3g} bytes: "
          "parameters are drawn {:.1f} times as wide",
          calibration_.measured.workers
              ? fmt::format("among {:g} to {:g} workers", calibration_.measured.workers->low,
                            calibration_.measured.workers->high)
              : "",
          calibration_.measured.bytes
              ? fmt::format(" on up to {:.3g} bytes", calibration_.measured.bytes->high)
              : "",
          job.workers(), job.workload.model_bytes(), factor_));
  }

  const Json& cluster_;
  CalibrationSection calibration_;
  double factor_ = 1;
  std::vector<std::string> changed_, notes_;
};

/// Whether the seed can change a time.
bool is_random(const Job& job, const Scenario& scenario) {
  return job.learner != nullptr || !job.stragglers.empty() || job.network.has_jitter() ||
         job.workload.compute_factor.kind != Distribution::Kind::constant ||
         scenario.resolved.at("failures").contains("mean_time_between") ||
         scenario.resolved.at("cluster").at("placement").is_object() || !job.graph.name.empty();
}

std::uint64_t seed_of(std::uint64_t seed, std::size_t draw) {
  Stream stream({.seed = seed, .purpose = Purpose::resampling, .entity = 0x5EED, .step = draw});
  return stream() % 1000000000U + 1;
}

/// The run's metrics that go with time, as JSON text; "" where it fails.
std::string metrics_of(const Scenario& scenario, int threads) {
  const Job& job = *new Job(make_job(scenario));  // kept for SimGrid's statics: runner.cpp
  SimulationOptions options;
  options.threads = threads;
  const SimulationResult result = simulate(job, options);
  Json values = Json::object();
  for (const MetricValue& metric : metric_values(result.record, job))
    if (goes_with_time(metric.name)) values[metric.name] = metric.value;
  return values.dump();
}

using Samples = std::map<std::string, std::vector<double>>;

double deviation(const std::vector<double>& values) {
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += (value - mean) * (value - mean);
  return values.size() < 2 ? 0 : std::sqrt(square / static_cast<double>(values.size() - 1));
}

struct Drawn {
  Samples joint, seeds;  ///< of each metric
  std::size_t failed = 0;
};

Drawn draw(const Scenario& scenario, const Draws& draws, bool random, const SimulationOptions& options,
           const IntervalSettings& settings) {
  const std::function<bool()>& interrupted = options.interrupted;
  const auto count = static_cast<std::size_t>(settings.draws);
  const std::size_t runs = random ? 2 * count : count;
  Drawn all;
  std::size_t done = 0;
  run_in_children(
      runs, {.jobs = settings.jobs, .timeout_s = std::nullopt, .interrupted = interrupted, .tick = {}},
      [&](std::size_t i) {
        const std::size_t k = i % count;
        Scenario drawn = i < count ? draws.scenario(scenario, k) : scenario;
        if (random) drawn.resolved["seed"] = seed_of(scenario.resolved.at("seed").get<std::uint64_t>(), k);
        return metrics_of(drawn, options.threads);
      },
      [&](std::size_t i, const ChildEnd& end) {
        if (settings.progress) settings.progress(++done, runs);
        if (end.kind != ChildEnd::Kind::answered) {
          ++all.failed;
          return;
        }
        const Json values = Json::parse(end.text);
        for (const auto& [name, value] : values.items())
          (i < count ? all.joint : all.seeds)[name].push_back(value.get<double>());
      });
  return all;
}

void write_intervals(const Drawn& drawn, const Draws& draws, bool random, const IntervalSettings& settings,
                     OrderedJson& document) {
  OrderedJson intervals = OrderedJson::object(), parts = OrderedJson::object();
  for (const auto& metric : document.at("metrics").items()) {
    const auto found = drawn.joint.find(metric.key());
    if (found == drawn.joint.end() || found->second.size() < 2) continue;
    std::vector<double> values = found->second;
    std::sort(values.begin(), values.end());  // children end in any order
    for (const double level : kLevels)
      intervals[metric.key()].push_back({{"level", level},
                                         {"low", quantile(values, (1 - level) / 2)},
                                         {"high", quantile(values, (1 + level) / 2)}});
    const auto of_seeds = drawn.seeds.find(metric.key());
    std::vector<double> alone = of_seeds == drawn.seeds.end() ? std::vector<double>{} : of_seeds->second;
    std::sort(alone.begin(), alone.end());
    const double all = deviation(values), seeds = deviation(alone);
    parts[metric.key()] = {{"deviation", all},
                           {"of_seeds", seeds},
                           {"of_parameters", std::sqrt(std::max(0.0, all * all - seeds * seeds))}};
  }
  document["intervals"] = std::move(intervals);
  document["uncertainty"] = {
      {"draws", settings.draws}, {"seeds_matter", random}, {"deviations", std::move(parts)}};
  for (const std::string& note : draws.notes()) document["notes"].push_back(note);
  if (drawn.failed > 0)
    document["notes"].push_back(
        fmt::format("{} of the runs that intervals are made of failed", drawn.failed));
}

}  // namespace

RunOutcome run_with_intervals(const Scenario& scenario, const SimulationOptions& options,
                              const IntervalSettings& settings) {
  const bool calibrated = scenario.resolved.at("cluster").contains("calibration");
  if (!calibrated || settings.draws < 2) return run_scenario(scenario, options);
  bool random = false;
  std::optional<Draws> draws;
  {
    const Job job = make_job(scenario);
    random = is_random(job, scenario);
    draws.emplace(scenario, job);
  }
  if (draws->count() == 0) return run_scenario(scenario, options);
  // Before this process simulates: children of one that has would inherit SimGrid's state.
  const Drawn drawn = draw(scenario, *draws, random, options, settings);
  if (options.interrupted && options.interrupted()) throw Interrupted();
  RunOutcome outcome = run_scenario(scenario, options);
  write_intervals(drawn, *draws, random, settings, outcome.document);
  return outcome;
}

}  // namespace simsgd

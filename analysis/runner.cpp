#include "analysis/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/data_sheet.hpp"
#include "analysis/runs/child_pool.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/this_program.hpp"
#include "sim/engine/simgrid_time.hpp"
#include "sim/record.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

RunContext build_context() { return context_of("simsgd"); }

void let_simgrid_keep_time(SimulationOptions& options) {
  options.time = simgrid_time(this_program().parent_path() / "libsimsgd_simgrid.so");
}

RunOutcome run_scenario(const Scenario& scenario, const SimulationOptions& options) {
  return run_job(scenario, make_job(scenario), options, false);
}

RunOutcome run_job(const Scenario& scenario, const Job& job, const SimulationOptions& options, bool brief) {
  const auto begin = std::chrono::steady_clock::now();
  SimulationResult result = simulate(job, options);
  RunContext context = with_machine(build_context());
  context.wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {brief ? make_brief_document(context, scenario, job, result.record)
                : make_document(context, scenario, job, result.record),
          std::move(result.timeline)};
}

namespace {

/// A placement by the scenario's own seed.
bool is_drawn(const Json& placement) { return placement.is_object() && !placement.contains("seed"); }

/// Whether the seed can change a time.
bool is_random(const Job& job, const Scenario& scenario) {
  return job.learner != nullptr || !job.stragglers.empty() || job.network.has_jitter() ||
         job.workload.compute_factor.kind != Distribution::Kind::constant ||
         scenario.resolved.at("failures").contains("mean_time_between") ||
         is_drawn(scenario.resolved.at("cluster").at("placement")) || !job.graph.name.empty();
}

std::uint64_t seed_of(const Scenario& scenario, std::size_t draw) {
  const auto seed = scenario.resolved.at("seed").get<std::uint64_t>();
  Stream stream({.seed = seed, .purpose = Purpose::resampling, .entity = 0x5EED, .step = draw});
  return stream() % 1000000000U + 1;
}

/// The run's metrics that go with time, as JSON text; "" where it fails.
std::string metrics_of(const Scenario& scenario, int threads) {
  const Job job = make_job(scenario);
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

int runs_each_draw(bool random) { return random ? 2 : 1; }

Drawn draw(const Scenario& scenario, const ParameterDraws& draws, bool random,
           const SimulationOptions& options, const IntervalSettings& settings) {
  const std::function<bool()>& interrupted = options.interrupted;
  const auto count = static_cast<std::size_t>(settings.draws);
  const auto runs = static_cast<std::size_t>(runs_with_intervals(runs_each_draw(random), settings.draws) - 1);
  Drawn all;
  std::size_t done = 0;
  run_in_children(
      runs, {.jobs = settings.jobs, .interrupted = interrupted},
      [&](std::size_t i) {
        const std::size_t k = i % count;
        Scenario drawn = scenario;
        if (i < count)
          for (const auto& [pointer, value] : drawn_values(scenario, draws, k, random))
            drawn.resolved[Json::json_pointer(pointer)] = value;
        else
          drawn.resolved["seed"] = seed_of(scenario, k);
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

/// Of a fit to operations alone, how far a metric of a run may be off is their share of a step times that:
/// computing was not fitted, and data sheets say of it what they can. What is communication itself has all.
Reach reach_of(const std::string& metric, const ParameterDraws& draws, const OrderedJson& metrics) {
  if (!draws.operations_only() || metric.find("communication") != std::string::npos || metric == "exchange_s")
    return draws.reach();
  const double step_s = metrics.value("iteration_time_mean_s", 0.0);
  if (!(step_s > 0)) return draws.reach();
  double communication_s = metrics.value(activity_metric(Activity::communication), 0.0);
  for (const TrafficInfo& each : traffics())
    communication_s += metrics.value(hidden_metric(each.traffic), 0.0);
  const double share = std::min(1.0, communication_s / step_s);
  Reach reach = draws.reach();
  for (double& each : reach) each = std::log1p(share * std::expm1(each));
  return reach;
}

void write_intervals(const Drawn& drawn, const ParameterDraws& draws, bool random,
                     const IntervalSettings& settings, OrderedJson& document) {
  OrderedJson intervals = OrderedJson::object(), parts = OrderedJson::object();
  for (const auto& metric : document.at("metrics").items()) {
    const auto found = drawn.joint.find(metric.key());
    if (found == drawn.joint.end() || found->second.size() < 2) continue;
    std::vector<double> values = found->second;
    std::ranges::sort(values);  // children end in any order
    for (const Interval& each : intervals_of(metric.value().get<double>(), values,
                                             reach_of(metric.key(), draws, document.at("metrics"))))
      intervals[metric.key()].push_back({{"level", each.level}, {"low", each.low}, {"high", each.high}});
    const auto of_seeds = drawn.seeds.find(metric.key());
    std::vector<double> alone = of_seeds == drawn.seeds.end() ? std::vector<double>{} : of_seeds->second;
    std::ranges::sort(alone);
    const double all = deviation(values), seeds = deviation(alone);
    parts[metric.key()] = {{"deviation", all},
                           {"of_seeds", seeds},
                           {"of_parameters", std::sqrt(std::max(0.0, all * all - seeds * seeds))}};
  }
  document["intervals"] = std::move(intervals);
  document["uncertainty"] = {{"draws", settings.draws},
                             {"seeds_matter", random},
                             {"least_reach", {{"half", draws.reach()[0]}, {"nine_tenths", draws.reach()[1]}}},
                             {"deviations", std::move(parts)}};
  for (const std::string& note : draws.notes()) document["notes"].push_back(note);
  if (drawn.failed > 0)
    document["notes"].push_back(
        fmt::format("{} of the runs that intervals are computed from failed", drawn.failed));
}

}  // namespace

bool draws_seeds_too(const Scenario& scenario, const Job& job, const ParameterDraws& draws) {
  return is_random(job, scenario) && !draws.draws_seed();
}

std::vector<std::pair<std::string, Json>> drawn_values(const Scenario& scenario, const ParameterDraws& draws,
                                                       std::size_t k, bool seeds) {
  std::vector<std::pair<std::string, Json>> values = draws.values(scenario, k);
  if (seeds) values.emplace_back("/seed", seed_of(scenario, k));
  return values;
}

int runs_per_draw(const Scenario& scenario, const Job& job) {
  if (!is_calibrated(scenario)) return 0;
  const ParameterDraws draws(scenario, job);
  return draws.count() == 0 ? 0 : runs_each_draw(draws_seeds_too(scenario, job, draws));
}

RunOutcome run_with_intervals(const Scenario& scenario, const Job& job, const SimulationOptions& options,
                              const IntervalSettings& settings) {
  if (settings.draws < 2) return run_job(scenario, job, options, false);
  std::optional<ParameterDraws> draws;
  if (is_calibrated(scenario)) draws.emplace(scenario, job);
  if (!draws || draws->count() == 0) {
    RunOutcome outcome = run_job(scenario, job, options, false);
    tell_data_sheets(scenario.resolved, job, false, outcome.document);
    add_data_sheet_intervals(outcome.document);
    return outcome;
  }
  const bool random = draws_seeds_too(scenario, job, *draws);
  // Before this process simulates: its children are small then.
  const Drawn drawn = draw(scenario, *draws, random, options, settings);
  if (options.interrupted && options.interrupted()) throw Interrupted();
  RunOutcome outcome = run_job(scenario, job, options, false);
  write_intervals(drawn, *draws, random, settings, outcome.document);
  if (draws->operations_only()) {
    tell_data_sheets(scenario.resolved, job, true, outcome.document);
    add_data_sheet_intervals(outcome.document);
  }
  return outcome;
}

RunOutcome run_with_intervals(const Scenario& scenario, const SimulationOptions& options,
                              const IntervalSettings& settings) {
  return run_with_intervals(scenario, make_job(scenario), options, settings);
}

}  // namespace simsgd

#include "analysis/questions/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/parameter_draws.hpp"
#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/run_row.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr double kLeastSteps = 5;

/// Of a setting of "stop", also where it is text with a unit.
std::optional<double> number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const ParsedQuantity parsed =
      value.is_string() ? parse_quantity(value.get<std::string>(), Dimension::time_s) : ParsedQuantity{};
  return parsed.ok ? std::optional(parsed.value) : std::nullopt;
}

/// The scenario's seed, the one after it, ...
std::uint64_t seed_of(const Json& resolved, const TrialOrder& order) {
  constexpr std::uint64_t kSeeds = (std::uint64_t{1} << 53) + 1;
  return (resolved["seed"].get<std::uint64_t>() + order.repetition) % kSeeds;
}

/// The candidate cut to a share of its run. The optimizer's schedule stays that of the whole run.
StudyPoint cut(StudyPoint point, const Json& resolved, const TrialOrder& order, double& cost) {
  const auto set = [&point](const std::string& pointer, Json value) {
    point.coordinates.push_back({pointer, std::move(value), {"advise", pointer}});
  };
  set("/seed", seed_of(resolved, order));
  cost = 1;
  if (order.share >= 1) return point;
  const Json& stop = resolved["stop"];
  cost = order.share;
  if (const auto steps = stop.contains("steps") ? number_of(stop["steps"]) : std::nullopt) {
    const double some = std::min(*steps, std::max(kLeastSteps, std::round(order.share * *steps)));
    cost = some / *steps;
    set("/stop/steps", static_cast<std::int64_t>(some));
  }
  for (const char* key : {"time", "samples", "epochs"})
    if (const auto all = stop.contains(key) ? number_of(stop[key]) : std::nullopt)
      set(std::string("/stop/") + key, *all * cost);
  if (!resolved["learner"].is_null()) set("/optimizer", resolved["optimizer"]);
  return point;
}

using Metrics = std::map<std::string, double>;

Metrics metrics_of(const OrderedJson& document) {
  Metrics metrics;
  for (const auto& each : document.at("metrics").items())
    if (each.value().is_number()) metrics[each.key()] = each.value().get<double>();
  return metrics;
}

/// What a second of the run takes in the target's unit.
double per_second(AdviceTarget target, const Metrics& metrics, const char* option = "--target") {
  const double time_s = metric_in(metrics, "simulated_time_s").value_or(0);
  const char* what = target == AdviceTarget::cost     ? "cost_usd"
                     : target == AdviceTarget::energy ? "energy_J"
                                                      : "";
  if (*what == '\0') return 1;
  const std::optional<double> total = metric_in(metrics, what);
  if (!total || !(time_s > 0))
    throw ConfigError({option, "", "needs a metric that the scenario does not give", what,
                       "Give the cluster's devices a price or a power, or choose another target"});
  return *total / time_s;
}

/// On a calibrated cluster every repetition but the first also draws the cluster's numbers, the same for all
/// candidates: intervals over seeds, and differences, have in them what the cluster may be.
Scenario with_draw(Scenario scenario, std::uint64_t repetition, Json& notes) {
  if (repetition == 0 || !is_calibrated(scenario)) return scenario;
  const ParameterDraws draws(scenario, make_job(scenario));
  if (draws.count() == 0) return scenario;
  notes = {"every seed but the first also draws the calibrated cluster's parameters"};
  for (const std::string& note : draws.notes()) notes.push_back(note);
  return draws.scenario(scenario, repetition - 1);
}

/// In the child.
Json run_one(const Study& study, const StudyPoint& candidate, const TrialOrder& order,
             const AdviceSettings& settings) {
  try {
    const Scenario whole = load_point(study, candidate);
    const Json& full = whole.resolved;
    double cost = 1;
    const StudyPoint point = cut(candidate, full, order, cost);
    SimulationOptions options;
    options.threads = settings.threads;
    const bool as_it_is = order.share >= 1 && order.repetition == 0;
    Json notes = Json::array();
    const Scenario scenario = with_draw(as_it_is ? whole : load_point(study, point), order.repetition, notes);
    const OrderedJson document = run_scenario(scenario, options).document;
    const Metrics metrics = metrics_of(document);
    const AdviceMeasure measure = measure_of(settings.target, full);
    const double rate = per_second(settings.target, metrics);
    Json made = {{"cost", cost},
                 {"algorithm", full["algorithm"]["name"]},
                 {"metrics", metrics},
                 {"notes", std::move(notes)}};
    const auto reached_s = measure.to_level ? metric_in(metrics, "time_to_target_s") : std::nullopt;
    const double elapsed_s = metric_in(metrics, "simulated_time_s").value_or(0);
    const double time_s = measure.to_level ? reached_s.value_or(elapsed_s) : elapsed_s / cost;
    made["time_s"] = time_s;
    if (settings.most_usd) made["cost_usd"] = time_s * per_second(AdviceTarget::cost, metrics, "--max-cost");
    const Json half = full.value(Json::json_pointer("/cluster/calibration/left_out/half"), Json());
    if (half.is_number()) made["left_out_half"] = half;
    if (!measure.to_level) {
      const double samples_per_s = metric_in(metrics, "throughput_samples_per_s").value_or(0);
      if (samples_per_s > 0) made["value"] = measure.more_is_better ? samples_per_s : rate / samples_per_s;
      return made;
    }
    if (reached_s) made["value"] = *reached_s * rate;
    for (const auto& each : document.at("series").at("train"))
      if (each.at("train_loss").is_number())
        made["losses"].push_back(
            {each.at("time_s").get<double>() * rate, each.at("train_loss").get<double>()});
    return made;
  } catch (const ConfigError& error) {
    const InputError& first = error.errors().front();
    return {{"impossible", first.pointer + " " + first.problem}};
  }
}

AdviceTrial trial_of(const ChildEnd& end) {
  AdviceTrial trial;
  if (end.kind != ChildEnd::Kind::answered) {
    trial.failed = failure_of(end);
    return trial;
  }
  const Json made = Json::parse(end.text);
  trial.impossible = made.value("impossible", "");
  trial.cost = made.value("cost", 0.0);
  trial.algorithm = made.value("algorithm", "");
  trial.metrics = made.value("metrics", Metrics{});
  trial.time_s = made.value("time_s", 0.0);
  for (const auto& [key, place] : {std::pair{"value", &trial.value},
                                   {"cost_usd", &trial.cost_usd},
                                   {"left_out_half", &trial.left_out_half}})
    if (made.contains(key)) *place = made[key].get<double>();
  trial.notes = made.value("notes", std::vector<std::string>{});
  for (const Json& each : made.value("losses", Json::array())) trial.losses.emplace_back(each[0], each[1]);
  return trial;
}

}  // namespace

double AdviceTrial::loss_at(double spent) const {
  constexpr std::size_t kWindow = 10;
  std::size_t end = 0;
  while (end < losses.size() && losses[end].first <= spent) ++end;
  if (end == 0) return losses.empty() ? std::numeric_limits<double>::infinity() : losses.front().second;
  const std::size_t begin = end > kWindow ? end - kWindow : 0;
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += losses[i].second;
  return sum / static_cast<double>(end - begin);
}

AdviceMeasure measure_of(AdviceTarget target, const Json& resolved) {
  const Json& level = resolved.value("target", Json());
  const bool to_level =
      level.is_object() && level.value("metric", "none") != "none" && target != AdviceTarget::throughput;
  const std::string what = to_level ? "until the target is reached" : "per sample";
  if (target == AdviceTarget::cost) return {"USD", "cost " + what, false, to_level};
  if (target == AdviceTarget::energy) return {"J", "energy " + what, false, to_level};
  if (to_level) return {"s", "simulated time " + what, false, true};
  return {"1/s", "samples per second", true, false};
}

std::string reason_of(const std::map<std::string, double>& metrics) {
  const double step_s = metric_in(metrics, "iteration_time_mean_s").value_or(0);
  if (!(step_s > 0)) return "";
  double hidden_s = 0, shown_s = 0;
  for (const auto& [name, seconds] : metrics) {
    if (name.ends_with("_communication_hidden_s")) hidden_s += seconds;
    if (name.ends_with("_communication_exposed_s")) shown_s += seconds;
  }
  const auto percent = [](double part, double whole) { return fmt::format("{:.0f} %", 100 * part / whole); };
  std::string text = "computing " + percent(metric_in(metrics, "compute_s").value_or(0), step_s);
  if (hidden_s + shown_s > 0) text += ", communication hidden " + percent(hidden_s, hidden_s + shown_s);
  for (const auto& [name, label] : {std::pair{"communication_exposed_s", "communication"},
                                    {"wait_s", "wait"},
                                    {"straggle_s", "straggling"},
                                    {"selection_s", "selection"},
                                    {"factor_s", "factors"},
                                    {"inverse_s", "inversions"},
                                    {"host_s", "host"}})
    if (const double part_s = metric_in(metrics, name).value_or(0); part_s > 0.005 * step_s)
      text += fmt::format(", {} {}", label, percent(part_s, step_s));
  return text;
}

std::vector<AdviceTrial> run_trials(const Study& study, const std::vector<TrialOrder>& orders,
                                    const AdviceSettings& settings) {
  std::vector<AdviceTrial> trials(orders.size());
  std::size_t done = 0;
  run_in_children(
      orders.size(), {.jobs = settings.jobs, .interrupted = settings.interrupted},
      [&](std::size_t i) { return run_one(study, *orders[i].point, orders[i], settings).dump(); },
      [&](std::size_t i, const ChildEnd& end) {
        trials[i] = trial_of(end);
        if (settings.progress) settings.progress(++done, orders.size());
      });
  return trials;
}

}  // namespace simsgd

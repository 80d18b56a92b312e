#include "analysis/calibration/calibrate_stragglers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "analysis/widening.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

std::uint64_t number_in(const Spec& spec, const Measurement& row, const std::string& column) {
  const std::string text = column_of(row, column).value_or("");
  if (const auto value = number_of_text<std::uint64_t>(text)) return *value;
  throw ConfigError(
      {spec.file, "/stragglers",
       fmt::format("the column {} is not a whole number in line {} of {}", column, row.line, row.source),
       text, "Name the columns of workers and steps, as labels of the map"});
}

calibration::StepTable table_of(const Spec& spec, const std::vector<Measurement>& rows,
                                const Selection& where, const std::string& pointer) {
  std::vector<calibration::WorkerStep> steps;
  for (const Measurement& row : rows)
    if (where.holds(row))
      steps.push_back({static_cast<int>(number_in(spec, row, spec.stragglers->worker)),
                       number_in(spec, row, spec.stragglers->step), row.value});
  try {
    calibration::StepTable table = calibration::step_table(steps);
    if (table.count() == 0) throw std::invalid_argument("no step has a time for every worker");
    return table;
  } catch (const std::invalid_argument& error) {
    throw ConfigError(
        spec.error_at(pointer, error.what(), "",
                      "Select times above 0, one for each worker and step. " + where.shown(rows)));
  }
}

void check_apart(const Spec& spec, const calibration::StepTable& fitted,
                 const calibration::StepTable& tested) {
  for (const std::uint64_t step : tested.steps)
    if (std::ranges::binary_search(fitted.steps, step))
      throw ConfigError({spec.file, "/tests/0/where",
                         fmt::format("tests step {}, which is also fitted", step), "",
                         "Select other steps: a model is tested on steps that the fit has not seen"});
}

}  // namespace

StragglerCalibration calibrate_stragglers(Spec spec, const CalibrationSettings& settings) {
  StragglerCalibration result;
  const std::vector<Measurement> rows = load_measurements(spec, settings.data);
  const calibration::StepTable table = table_of(spec, rows, spec.fit.where, "/fit/where");
  calibration::StragglerFitOptions options;
  options.draws = spec.fit.draws;
  if (settings.progress) settings.progress("fitting stragglers", 0);
  try {
    result.fit = calibration::fit_stragglers(table, options);
  } catch (const std::invalid_argument& error) {
    throw ConfigError({spec.file, "/fit/where", error.what(), "", "Fit more steps"});
  }
  if (!spec.tests.empty()) {
    const calibration::StepTable tested = table_of(spec, rows, spec.tests.front().where, "/tests/0/where");
    check_apart(spec, table, tested);
    if (settings.progress) settings.progress("judging", 0);
    result.verdict =
        calibration::judge(result.fit, tested, {.continues = spec.stragglers->continues, .fitted = &table});
  }
  result.spec = std::move(spec);
  return result;
}

std::string straggler_text(const StragglerCalibration& calibration) {
  std::string text = calibration.spec.name + "\n\n" + calibration::report(calibration.fit);
  if (calibration.verdict)
    text +=
        fmt::format("\nTest \"{}\"\n{}", calibration.spec.tests.front().name, calibration.verdict->text());
  return text;
}

nlohmann::ordered_json straggler_json(const StragglerCalibration& calibration) {
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"name", calibration.spec.name},
                                 {"spec", calibration.spec.file},
                                 {"steps", calibration.fit.steps}};
  for (const calibration::ParameterInterval& each : calibration.fit.intervals)
    json["parameters"].push_back(
        {{"name", each.name}, {"value", each.value}, {"low", each.low}, {"high", each.high}, {"level", 0.9}});
  json["regimes"] = {{"differ", calibration.fit.regimes.differ}, {"p", calibration.fit.regimes.p}};
  if (calibration.verdict) {
    for (const calibration::JudgedStatistic& each : calibration.verdict->statistics)
      json["tests"].push_back({{"name", each.name},
                               {"measured", each.measured},
                               {"predicted", each.predicted},
                               {"error", each.error()},
                               {"low", each.low},
                               {"high", each.high}});
    json["passes"] = calibration.verdict->passes();
  }
  json["stragglers"] = nlohmann::ordered_json::parse(straggler_section(calibration).dump());
  return json;
}

Json straggler_section(const StragglerCalibration& calibration) {
  return Json::array({calibration.fit.parameters.section()});
}

}  // namespace simsgd

namespace simsgd::calibration {

namespace {

JudgedStatistic judged(const std::string& name, double measured, const std::vector<double>& of_fit,
                       std::vector<double> of_draws, double level) {
  std::ranges::sort(of_draws);
  return {.name = name,
          .measured = measured,
          .predicted = mean_of(of_fit),
          .low = simsgd::quantile(of_draws, (1 - level) / 2),
          .high = simsgd::quantile(of_draws, (1 + level) / 2)};
}

/// Of the same workers, one after the other.
StepTable joined(StepTable first, const StepTable& second) {
  first.steps.insert(first.steps.end(), second.steps.begin(), second.steps.end());
  for (std::size_t w = 0; w < first.times_s.size(); ++w)
    first.times_s[w].insert(first.times_s[w].end(), second.times_s[w].begin(), second.times_s[w].end());
  return first;
}

struct Runs {
  std::vector<double> mean, p95, lag_20;

  void add(const StragglerStatistics& of) {
    mean.push_back(of.slowest_mean_s);
    p95.push_back(of.slowest_p95_s);
    lag_20.push_back(of.lag_20.value_or(0));
  }
};

/// Later steps are like some quarter of those that were fitted, as near as blocks of a quarter tell what it
/// has.
void hold_quarters(const Regimes& regimes, double StragglerStatistics::*value, JudgedStatistic& judged) {
  double within = 0;  // of logarithms of blocks
  for (const StepTable& quarter : regimes.quarters) {
    std::vector<double> logs;
    for (const StepTable& block : parts(quarter, kQuarters))
      logs.push_back(std::log(statistics_of(block).*value));
    const double mean = mean_of(logs);
    for (const double each : logs) within += (each - mean) * (each - mean);
  }
  // A quarter is four blocks, and the difference of two is asked for.
  const double off = kNormalReach[1] * std::sqrt(2 * within / (kQuarters * (kQuarters - 1)) / kQuarters);
  for (const StepTable& quarter : regimes.quarters) {
    judged.low = std::min(judged.low, statistics_of(quarter).*value * std::exp(-off));
    judged.high = std::max(judged.high, statistics_of(quarter).*value * std::exp(off));
  }
}

std::string regimes_text(const Regimes& regimes) {
  if (regimes.quarters.empty()) return "Too few steps to tell whether the regime changes\n";
  std::vector<std::string> means;
  for (const StepTable& quarter : regimes.quarters)
    means.push_back(fmt::format("{:.4g}", statistics_of(quarter).slowest_mean_s));
  return fmt::format(
      "Slowest worker, mean in each quarter of the steps: {} s. {} (F {:.3g}, p {:.2g})\n",
      fmt::join(means, ", "),
      regimes.differ
          ? "The regime changes, and intervals cover all quarters"
          : "Quarters differ no more than the steps within them, so later steps are assumed to be like these",
      regimes.f, regimes.p);
}

}  // namespace

StragglerStatistics statistics_of(const StepTable& table) {
  std::vector<double> slowest = slowest_of(table);
  std::ranges::sort(slowest);
  StragglerStatistics of;
  of.slowest_mean_s = mean_of(slowest);
  of.slowest_p95_s = simsgd::quantile(slowest, 0.95);
  if (table.count() < 2 * kJudgedLag) return of;
  of.lag_20 = 0;
  for (const auto& times : table.times_s)
    *of.lag_20 += autocorrelation(times, kJudgedLag) / static_cast<double>(table.workers.size());
  return of;
}

StragglerVerdict judge(const StragglerFit& fit, const StepTable& held_out, const StragglerJudging& how) {
  if (held_out.workers.size() != fit.parameters.factors.size())
    throw std::invalid_argument(fmt::format("the model has {} workers, and the steps that test it have {}",
                                            fit.parameters.factors.size(), held_out.workers.size()));
  if (held_out.count() == 0)
    throw std::invalid_argument("no steps were left out, so the model cannot be judged");
  Runs of_fit, of_draws;
  const auto steps_of = [&](const StragglerParameters& parameters, std::uint64_t seed) {
    const std::size_t n = held_out.count();
    return statistics_of(
        simulated_steps(how.continues ? continued(fit, parameters, n) : parameters, n, seed));
  };
  for (int i = 0; i < how.seeds; ++i) {
    const std::uint64_t seed = how.first_seed + static_cast<std::uint64_t>(i);
    of_fit.add(steps_of(fit.parameters, seed));
    if (fit.drawn.empty()) continue;
    const StragglerParameters& drawn = fit.drawn[static_cast<std::size_t>(i) % fit.drawn.size()];
    of_draws.add(steps_of(drawn, seed));
  }
  if (fit.drawn.empty()) of_draws = of_fit;
  const StragglerStatistics measured = statistics_of(held_out);
  StragglerVerdict verdict{.statistics = {}, .level = how.level};
  verdict.statistics = {
      judged("slowest of the workers, mean (s)", measured.slowest_mean_s, of_fit.mean, of_draws.mean,
             how.level),
      judged("slowest of the workers, p95 (s)", measured.slowest_p95_s, of_fit.p95, of_draws.p95, how.level)};
  if (fit.regimes.differ) {
    hold_quarters(fit.regimes, &StragglerStatistics::slowest_mean_s, verdict.statistics[0]);
    hold_quarters(fit.regimes, &StragglerStatistics::slowest_p95_s, verdict.statistics[1]);
  }
  if (measured.lag_20)
    verdict.statistics.push_back(
        judged("autocorrelation at lag 20", *measured.lag_20, of_fit.lag_20, of_draws.lag_20, how.level));
  if (how.continues && how.fitted != nullptr) {
    const StepTable all = joined(*how.fitted, held_out);
    std::vector<double> whole, of_whole;
    for (int i = 0; i < how.seeds; ++i) {
      const std::uint64_t seed = how.first_seed + static_cast<std::uint64_t>(i);
      const auto lag_20 = [&](const StragglerParameters& parameters) {
        return statistics_of(simulated_steps(parameters, all.count(), seed)).lag_20.value_or(0);
      };
      whole.push_back(lag_20(fit.parameters));
      of_whole.push_back(fit.drawn.empty()
                             ? whole.back()
                             : lag_20(fit.drawn[static_cast<std::size_t>(i) % fit.drawn.size()]));
    }
    if (const std::optional<double> lag_20 = statistics_of(all).lag_20)
      verdict.statistics.push_back(
          judged("the same, with the fitted steps", *lag_20, whole, of_whole, how.level));
  }
  return verdict;
}

bool StragglerVerdict::passes() const {
  return std::ranges::all_of(statistics, [](const JudgedStatistic& each) { return each.inside(); });
}

std::string StragglerVerdict::text() const {
  std::string text;
  std::string outside;
  for (const JudgedStatistic& each : statistics) {
    text += fmt::format(
        "{:34} measured {:.4g}, predicted {:.4g} ({:+.1f} %), {:.0f} % interval {:.4g} to {:.4g}{}\n",
        each.name, each.measured, each.predicted, 100 * each.error(), 100 * level, each.low, each.high,
        each.inside() ? "" : ": OUTSIDE");
    if (!each.inside()) outside += (outside.empty() ? "" : ", ") + each.name;
  }
  return text + (passes() ? "The model passes its test.\n" : "The model fails its test: " + outside + ".\n");
}

std::string report(const StragglerFit& fit) {
  std::string text =
      fmt::format("Fitted on {} steps of {} workers\n", fit.steps, fit.parameters.factors.size());
  for (const ParameterInterval& each : fit.intervals)
    text += fmt::format("  {:26} {:10.4g}  {:10.4g} to {:.4g}\n", each.name, each.value, each.low, each.high);
  text += regimes_text(fit.regimes);
  if (fit.families.fits.empty()) return text + "No fast noise was found\n";
  text += fmt::format(
      "Fast noise, {1} values taken every {0} steps: families, best first, and how far their AIC is behind\n",
      fit.thinning, fit.families.count);
  for (const FamilyFit& each : fit.families.fits)
    text += fmt::format("  {:26} {:10.1f}\n", family_name(each.family) + (each.shifted ? ", shifted" : ""),
                        each.aic() - fit.families.fits.front().aic());
  const Goodness& best = fit.families.best;
  return text +
         fmt::format("Best family: KS {:.3f} (p {:.3f}), Anderson-Darling {:.3f} (p {:.3f}), {} draws{}\n",
                     best.ks, best.ks_p, best.anderson_darling, best.anderson_darling_p, best.draws,
                     fit.families.none_fits ? ": none fits, measured quantiles are used" : "");
}

}  // namespace simsgd::calibration

#include "analysis/calibration/straggler_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/base/random.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd::calibration {

namespace {

std::vector<std::vector<double>> logs_of(const StepTable& table) {
  std::vector<std::vector<double>> logs = table.times_s;
  for (auto& series : logs)
    for (double& each : series) each = std::log(each);
  return logs;
}

void set_factors(const StepTable& table, const Memories& of, StragglerParameters& to) {
  std::vector<double> logs, errors;
  to.base_s = 0;
  const auto p = static_cast<double>(table.workers.size());
  const double fast = mean_variance(of.fast_rho, table.count()),
               slow = mean_variance(of.slow_rho, table.count());
  for (std::size_t w = 0; w < table.workers.size(); ++w) {
    const double mean = mean_of(table.times_s[w]);
    to.base_s += mean / p;
    logs.push_back(std::log(mean));
    errors.push_back(of.fast_variances[w] * fast + of.slow_variances[w] * slow);
  }
  const double middle = mean_of(logs);
  double spread = 0;
  for (const double each : logs) spread += (each - middle) * (each - middle) / std::max(1.0, p - 1);
  spread = std::max(0.0, spread - mean_of(errors));
  to.factors.clear();
  for (std::size_t w = 0; w < logs.size(); ++w) {
    const double kept = spread > 0 ? spread / (spread + errors[w]) : 0;
    to.factors.push_back(std::exp(kept * (logs[w] - middle)));
  }
  const double mean = mean_of(to.factors);
  for (double& each : to.factors) each /= mean;
}

/// Where smoothing has split the logarithms.
struct Split {
  std::vector<std::vector<double>> fast;  // of each worker that has any, of mean 0 and variance 1
  std::vector<double> last_slow;          // of each worker, in the last step
  double last_common = 0;
};

Split split_of(const std::vector<std::vector<double>>& logs, const Memories& of) {
  const std::size_t n = logs.front().size();
  std::vector<std::vector<double>> left = logs;
  std::vector<double> common(n);
  double weights = 0;
  for (std::size_t w = 0; w < left.size(); ++w) {
    const double mean = mean_of(left[w]), variance = of.fast_variances[w] + of.slow_variances[w];
    const double weight = variance > 0 ? 1 / variance : 0;
    weights += weight;
    for (std::size_t i = 0; i < n; ++i) common[i] += weight * (left[w][i] -= mean);
  }
  Split split;
  // The weighted mean of workers is the common factor and noise of variance 1 / weights, as fast as theirs.
  if (of.common_variance > 0 && weights > 0) {
    for (double& each : common) each /= weights;
    common = smoothed(common, {of.common_variance, of.common_rho}, {1 / weights, of.fast_rho});
    for (auto& series : left)
      for (std::size_t i = 0; i < n; ++i) series[i] -= common[i];
    split.last_common = common.back();
  }
  split.last_slow.resize(left.size());
  for (std::size_t w = 0; w < left.size(); ++w) {
    const double fast = of.fast_variances[w], slow = of.slow_variances[w];
    const bool has_fast = fast > 1e-3 * slow;
    if (slow > 0) {
      const double last = left[w].back();
      if (has_fast) left[w] = smoothed(left[w], {fast, of.fast_rho}, {slow, of.slow_rho});
      split.last_slow[w] = has_fast ? last - left[w].back() : last;
    }
    const double mean = mean_of(left[w]);
    double square = 0;
    for (double& each : left[w]) each -= mean, square += each * each / static_cast<double>(n);
    if (!has_fast || !(square > 0)) continue;
    for (double& each : left[w]) each /= std::sqrt(square);
    split.fast.push_back(std::move(left[w]));
  }
  return split;
}

/// CV of exp(deviation x score).
double cv_of(const std::vector<std::vector<double>>& scores, double variance) {
  double n = 0, first = 0, second = 0;
  for (const auto& series : scores)
    for (const double each : series) {
      const double value = std::exp(std::sqrt(variance) * each);
      n += 1, first += value, second += value * value;
    }
  return n > 0 ? std::sqrt(std::max(0.0, n * second / (first * first) - 1)) : 0;
}

/// Fast noise of the mean worker, of mean 1.
std::vector<std::vector<double>> fast_factors(std::vector<std::vector<double>> scores, const Memories& of) {
  const double deviation = std::sqrt(mean_of(of.fast_variances));
  double sum = 0, n = 0;
  for (auto& series : scores)
    for (double& each : series) sum += each = std::exp(deviation * each), n += 1;
  for (auto& series : scores)
    for (double& each : series) each *= n / sum;
  return scores;
}

void set_family(const FamilyFit& fit, StragglerParameters& to) {
  to.family = fit.family;
  to.floor = std::clamp(fit.shift, 0.0, 0.99);  // values have mean 1
}

/// All but the marginal; the fast noise as well.
StragglerParameters fit_moments(const StepTable& table, std::vector<std::vector<double>>& noise,
                                Split* split_to = nullptr) {
  const auto logs = logs_of(table);
  const Memories memories = fit_memories(logs);
  StragglerParameters fitted;
  set_factors(table, memories, fitted);
  Split split = split_of(logs, memories);
  const auto& scores = split.fast;
  for (std::size_t w = 0; w < logs.size(); ++w) {
    fitted.fast_cvs.push_back(cv_of(scores, memories.fast_variances[w]));
    fitted.slow_cvs.push_back(std::sqrt(std::expm1(memories.slow_variances[w])));
  }
  fitted.fast_correlation = memories.fast_rho;
  fitted.slow_steps = steps_of(memories.slow_rho);
  fitted.common_cv = std::sqrt(std::expm1(memories.common_variance));
  fitted.common_steps = steps_of(memories.common_rho);
  noise = fast_factors(scores, memories);
  if (split_to != nullptr) *split_to = std::move(split);
  return fitted;
}

StragglerParameters refit(const StepTable& table, const StragglerFit& like) {
  std::vector<std::vector<double>> noise;
  StragglerParameters again = fit_moments(table, noise);
  again.by_quantiles = like.parameters.by_quantiles;
  again.quantiles = like.parameters.quantiles;
  again.family = like.parameters.family;
  if (!again.by_quantiles && !noise.empty() && !like.families.fits.empty())
    set_family(fit_family(again.family, like.families.fits.front().shifted, thinned(noise, like.thinning)),
               again);
  return again;
}

/// A family of few shapes, such as quantiles of a noise of which one step is far from all others, may not
/// have the CV that some worker has.
bool can_be_simulated(const StragglerParameters& parameters) {
  try {
    simulated_steps(parameters, 1, 1);
    return true;
  } catch (const ParameterError&) {
    return false;
  }
}

void draw_again(const StepTable& table, const StragglerFitOptions& options, StragglerFit& fit) {
  for (int draw = 0; draw < options.draws; ++draw) {
    const StreamKey key{options.seed, Purpose::resampling, 1, static_cast<std::uint64_t>(draw)};
    StragglerParameters drawn = refit(simulated_steps(fit.parameters, table.count(), Stream(key)()), fit);
    if (can_be_simulated(drawn)) fit.drawn.push_back(std::move(drawn));
  }
}

}  // namespace

StragglerFit fit_stragglers(const StepTable& table, const StragglerFitOptions& options) {
  if (table.workers.empty() || table.count() < kFewestSteps)
    throw std::invalid_argument(
        fmt::format("{} steps with a time of each of the {} workers are too few: give at least {}",
                    table.count(), table.workers.size(), kFewestSteps));
  for (std::size_t w = 0; w < table.workers.size(); ++w)
    if (std::ranges::min(table.times_s[w]) == std::ranges::max(table.times_s[w]))
      throw std::invalid_argument(
          fmt::format("all times of worker {} are the same: there is no noise to fit", table.workers[w]));
  StragglerFit fit;
  fit.steps = table.count();
  fit.regimes = regimes_of(table);
  std::vector<std::vector<double>> noise;
  Split split;
  fit.parameters = fit_moments(table, noise, &split);
  fit.last_slow = std::move(split.last_slow);
  fit.last_common = split.last_common;
  if (!noise.empty()) {
    fit.thinning = thinning_lag(noise);
    const std::vector<double> values = thinned(noise, fit.thinning);
    fit.families = choose_family(values, options.goodness_draws, options.seed);
    set_family(fit.families.fits.front(), fit.parameters);
    fit.parameters.by_quantiles = fit.families.none_fits;
    if (fit.parameters.by_quantiles) {
      const double floor = std::exchange(fit.parameters.floor, 0.0);
      fit.parameters.quantiles = fit.families.quantiles;
      if (!can_be_simulated(fit.parameters)) {
        fit.parameters.by_quantiles = false;
        fit.parameters.floor = floor;
      }
    }
  }
  draw_again(table, options, fit);
  fit.intervals = intervals_of(fit, options.level);
  return fit;
}

namespace {

/// Mean over steps 1 to `steps` of what is left of a deviation.
double kept(double memory_steps, std::size_t steps) {
  const double rho = memory_steps > 0 ? std::exp(-1 / memory_steps) : 0;
  const auto n = static_cast<double>(steps);
  return rho * (1 - std::pow(rho, n)) / (1 - rho) / n;
}

}  // namespace

StragglerParameters continued(const StragglerFit& fit, const StragglerParameters& parameters,
                              std::size_t steps) {
  StragglerParameters next = parameters;
  const double slow = kept(fit.parameters.slow_steps, steps),
               common = kept(fit.parameters.common_steps, steps);
  for (std::size_t w = 0; w < next.factors.size(); ++w) next.factors[w] *= std::exp(slow * fit.last_slow[w]);
  next.base_s *= std::exp(common * fit.last_common);
  return next;
}

StepTable simulated_steps(const StragglerParameters& parameters, std::size_t steps, std::uint64_t seed) {
  StepTable table;
  const auto workers = static_cast<int>(parameters.factors.size());
  const auto model = make_straggler(parameters.section(), {.workers = workers, .seed = seed});
  table.times_s.resize(parameters.factors.size());
  for (int rank = 0; rank < workers; ++rank) {
    table.workers.push_back(rank);
    for (std::size_t step = 1; step <= steps; ++step) {
      Straggle straggle;
      model->apply({.seed = seed,
                    .rank = rank,
                    .workers = workers,
                    .step = step,
                    .nominal_compute_s = parameters.base_s},
                   straggle);
      table.times_s[static_cast<std::size_t>(rank)].push_back(parameters.base_s * straggle.factor);
    }
  }
  for (std::size_t step = 1; step <= steps; ++step) table.steps.push_back(step);
  return table;
}

// The fitted parameters as a scenario's section, and their intervals.

namespace {

bool any(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double each) { return each > 0; });
}

constexpr double kLeastMemory = 0.2;  // steps; as good as none

/// From the refits.
void set_ends(const StragglerFit& fit, double level, std::vector<ParameterInterval>& all) {
  std::vector<std::vector<double>> drawn(all.size());
  for (const StragglerParameters& each : fit.drawn) {
    const auto named = each.named();
    for (std::size_t i = 0; i < all.size(); ++i) drawn[i].push_back(named[i].second);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double low = interval_end(drawn[i], (1 - level) / 2),
                 high = interval_end(drawn[i], (1 + level) / 2);
    const double value = all[i].value;
    if (all[i].name.ends_with("_steps")) {
      const double turned = std::max(value, kLeastMemory) * std::max(value, kLeastMemory);
      all[i].low = turned / std::max(high, kLeastMemory);
      all[i].high = turned / std::max(low, kLeastMemory);
    } else {
      all[i].low = std::max(0.0, 2 * value - high);
      all[i].high = std::max(0.0, 2 * value - low);
    }
  }
}

}  // namespace

Json StragglerParameters::section(const std::string& rank_mapping) const {
  Json section = {{"name", "compute_noise"}, {"factors", factors}, {"rank_mapping", rank_mapping}};
  if (any(fast_cvs)) {
    Json& fast = section["fast"] = {{"cvs", fast_cvs}, {"correlation", fast_correlation}};
    // An exponential above its floor is the Weibull of shape 1.
    fast["family"] = by_quantiles                    ? "quantiles"
                     : family == Family::exponential ? "weibull"
                                                     : family_name(family);
    if (by_quantiles)
      fast["quantiles"] = quantiles;
    else
      fast["floor"] = floor;
  }
  if (any(slow_cvs)) section["slow"] = {{"cvs", slow_cvs}, {"correlation_steps", slow_steps}};
  if (common_cv > 0) section["common"] = {{"cv", common_cv}, {"correlation_steps", common_steps}};
  return section;
}

std::vector<std::pair<std::string, double>> StragglerParameters::named() const {
  std::vector<std::pair<std::string, double>> all = {{"base_s", base_s}};
  const auto add = [&](const std::string& name, const std::vector<double>& values) {
    for (std::size_t w = 0; w < values.size(); ++w)
      all.emplace_back(fmt::format("{}/{}", name, w), values[w]);
  };
  add("factors", factors);
  add("fast/cvs", fast_cvs);
  all.emplace_back("fast/correlation", fast_correlation);
  if (!by_quantiles) all.emplace_back("fast/floor", floor);
  add("slow/cvs", slow_cvs);
  all.emplace_back("slow/correlation_steps", slow_steps);
  all.emplace_back("common/cv", common_cv);
  all.emplace_back("common/correlation_steps", common_steps);
  return all;
}

std::vector<ParameterInterval> intervals_of(const StragglerFit& fit, double level) {
  std::vector<ParameterInterval> all;
  for (const auto& [name, value] : fit.parameters.named()) all.push_back({name, value, value, value});
  if (!fit.drawn.empty()) set_ends(fit, level, all);
  if (!fit.regimes.differ) return all;
  for (const StepTable& quarter : fit.regimes.quarters) {
    std::vector<double> means;
    for (const auto& times : quarter.times_s) means.push_back(mean_of(times));
    const double base_s = mean_of(means);
    for (ParameterInterval& each : all) {
      const bool base = each.name == "base_s", factor = each.name.starts_with("factors/");
      if (!base && !factor) continue;
      const double here =
          base ? base_s : means[std::stoul(each.name.substr(each.name.find('/') + 1))] / base_s;
      each.low = std::min(each.low, here);
      each.high = std::max(each.high, here);
    }
  }
  return all;
}

}  // namespace simsgd::calibration

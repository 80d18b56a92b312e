// The fitted parameters as a scenario's section, and their intervals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/calibration/straggler_fit.hpp"
#include "sim/base/quantiles.hpp"

namespace simsgd::calibration {

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

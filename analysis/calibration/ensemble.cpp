#include "analysis/calibration/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace simsgd {

std::size_t member_count(const ModelSpec& model) {
  std::size_t count = 1;
  for (const EnsembleSpec& each : model.ensemble) count *= each.values.size();
  return count;
}

Patch member_patch(const ModelSpec& model, std::size_t number) {
  Patch patch;
  for (const EnsembleSpec& each : model.ensemble) {
    patch.emplace_back(each.pointer, each.values.at(number % each.values.size()));
    number /= each.values.size();
  }
  return patch;
}

std::vector<double> member_weights(const std::vector<double>& mean_squares, std::size_t points,
                                   std::size_t parameters) {
  const double freedom = points > parameters ? static_cast<double>(points - parameters) : 1.0;
  constexpr double kExact = 1e-12;  // of a square: two members that both fit to rounding are equal
  const double least = std::max(kExact, *std::ranges::min_element(mean_squares));
  std::vector<double> weights;
  double sum = 0;
  for (const double square : mean_squares) {
    const double ratio = std::max(kExact, square) / least;
    weights.push_back(std::isfinite(ratio) ? std::pow(ratio, -freedom / 2) : 0.0);
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

double hopeless_ratio(std::size_t members, std::size_t points, std::size_t parameters) {
  const double freedom = points > parameters ? static_cast<double>(points - parameters) : 1.0;
  return std::pow(static_cast<double>(members) / kLeastWeight, 2 / freedom);
}

std::vector<double> screened_sums(
    std::size_t members, std::size_t cells, double hopeless,
    const std::function<std::vector<double>(const std::vector<std::pair<std::size_t, std::size_t>>&)>&
        squares) {
  constexpr std::size_t kAtATime = 64;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> sums(members, 0.0);
  std::vector<std::size_t> next(members, 0);
  double least = kInfinity;
  for (;;) {
    std::vector<double> open;
    for (std::size_t m = 0; m < members; ++m)
      if (next[m] < cells && sums[m] <= hopeless * least) open.push_back(sums[m]);
    if (open.empty()) break;
    const std::size_t place = std::min(kAtATime, open.size()) - 1;
    std::nth_element(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(place), open.end());
    const double last = open[place];
    const bool all_equal = *std::ranges::min_element(open) == last;
    std::vector<std::pair<std::size_t, std::size_t>> asked;  // no order among equals: all of them, or none
    for (std::size_t m = 0; m < members; ++m)
      if (next[m] < cells && (all_equal ? sums[m] <= last : sums[m] < last)) asked.emplace_back(m, next[m]);
    const std::vector<double> known = squares(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::size_t m = asked[i].first;
      sums[m] += known[i];
      if (++next[m] == cells) least = std::min(least, sums[m]);
    }
  }
  for (std::size_t m = 0; m < members; ++m)
    if (next[m] < cells || sums[m] > hopeless * least) sums[m] = kInfinity;
  return sums;
}

std::vector<double> outcome_weights(const std::vector<double>& weights,
                                    const std::vector<std::size_t>& group_of) {
  std::vector<double> sums(weights.size(), 0.0);
  for (std::size_t m = 0; m < weights.size(); ++m) sums[group_of[m]] += weights[m];
  return sums;
}

std::vector<double> ensemble_mean(const std::vector<std::vector<double>>& predictions,
                                  const std::vector<double>& weights) {
  std::vector<double> mean;
  double sum = 0;
  for (std::size_t m = 0; m < predictions.size(); ++m) {
    if (predictions[m].empty()) continue;
    mean.resize(predictions[m].size(), 0.0);
    sum += weights[m];
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weights[m] * std::log(predictions[m][i]);
  }
  for (double& value : mean) value = std::exp(value / sum);
  return mean;
}

namespace {

constexpr std::size_t kMany = 16;  // of fewer all are simulated

/// Whether some of the ensemble goes with the setting.
bool varies(const Setting& setting, const ModelSpec& model) {
  return std::ranges::any_of(model.ensemble, [&](const EnsembleSpec& each) {
    return std::ranges::find(setting.left_alone, each.pointer) == setting.left_alone.end();
  });
}

Fitted in_the_middle(const ModelSpec& model) {
  Fitted middle;
  for (const ParameterSpec& each : model.parameters)
    middle.values.push_back(value_at(each, (scale_of(each, each.low) + scale_of(each, each.high)) / 2));
  return middle;
}

}  // namespace

Members::Members(const Predictor& predictor, const Points& points, const ModelSpec& model)
    : predictor_(predictor), points_(points), model_(model) {}

bool Members::many() const { return member_count(model_) > kMany && model_.searches.empty(); }

std::vector<std::vector<std::size_t>> Members::cells(const std::vector<std::size_t>& which) const {
  if (!many()) return {which};
  std::map<std::pair<int, std::size_t>, std::vector<std::size_t>> by_cost;
  for (const std::size_t i : which)
    by_cost[{points_.points[i].measurement.workers, points_.points[i].setting}].push_back(i);
  std::vector<std::vector<std::size_t>> cells;
  for (auto& [cost, cell] : by_cost) cells.push_back(std::move(cell));
  return cells;
}

std::vector<std::size_t> Members::alike(const std::vector<std::size_t>& members,
                                        const std::vector<std::size_t>& cell) const {
  if (!many()) return members;
  const std::size_t setting = points_.points[cell.front()].setting;
  if (!varies(points_.settings[setting], model_)) return std::vector<std::size_t>(members.size(), 0);
  Fitted middle = in_the_middle(model_);
  std::vector<Patch> patches;
  std::vector<std::size_t> unknown;
  for (const std::size_t m : members) {
    if (!alike_.try_emplace({setting, m}, m).second) continue;
    middle.member = m;
    patches.push_back(patch_of(model_, middle));
    unknown.push_back(m);
  }
  std::vector<std::size_t>
      all_of_setting;  // all that is measured of a run: a part of it would tell less apart
  for (std::size_t i = 0; i < points_.points.size(); ++i)
    if (points_.points[i].setting == setting) all_of_setting.push_back(i);
  const std::vector<std::vector<double>> outcomes = predictor_.predict(patches, all_of_setting);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    std::string outcome;
    for (const double value : outcomes[i]) outcome += fmt::format("{:.9e} ", value);
    alike_[{setting, unknown[i]}] = first_of_.try_emplace({setting, outcome}, unknown[i]).first->second;
  }
  std::vector<std::size_t> first;
  for (const std::size_t m : members) first.push_back(alike_.at({setting, m}));
  return first;
}

std::vector<std::vector<double>> Members::predict(const std::vector<std::size_t>& members,
                                                  const Fitted& fitted, const std::vector<std::size_t>& cell,
                                                  double factor) const {
  const std::vector<std::size_t> first = alike(members, cell);
  std::map<std::pair<std::size_t, std::vector<double>>, std::size_t> number;
  std::vector<Patch> patches;
  std::vector<std::size_t> patch_of_member;
  Fitted one{{}, fitted.tables, 0, {}};
  for (std::size_t i = 0; i < members.size(); ++i) {
    one.member = first[i];
    one.values = members[i] == fitted.member || fitted.member_values.empty()
                     ? fitted.values
                     : fitted.member_values[members[i]];
    const auto [known, fresh] = number.try_emplace({one.member, one.values}, patches.size());
    if (fresh) patches.push_back(scaled_patch(model_, one, factor));
    patch_of_member.push_back(known->second);
  }
  const std::vector<std::vector<double>> predicted = predictor_.predict(patches, cell);
  std::vector<std::vector<double>> all;
  for (const std::size_t patch : patch_of_member) all.push_back(predicted[patch]);
  return all;
}

std::vector<std::size_t> Members::outcomes(const std::vector<std::vector<std::size_t>>& cells,
                                           const std::vector<bool>& left_aside) const {
  std::vector<std::size_t> first(left_aside.size()), wanted;
  std::iota(first.begin(), first.end(), std::size_t{0});
  if (!many()) return first;
  for (const std::size_t m : first)
    if (!left_aside[m]) wanted.push_back(m);
  std::vector<std::vector<std::size_t>> marks(wanted.size());
  for (const std::vector<std::size_t>& cell : cells) {
    const std::vector<std::size_t> of_cell = alike(wanted, cell);
    for (std::size_t i = 0; i < wanted.size(); ++i) marks[i].push_back(of_cell[i]);
  }
  std::map<std::vector<std::size_t>, std::size_t> seen;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    first[wanted[i]] = seen.try_emplace(marks[i], wanted[i]).first->second;
  return first;
}

}  // namespace simsgd

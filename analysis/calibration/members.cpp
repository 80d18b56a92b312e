#include "analysis/calibration/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/calibration/ensemble.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMany = 16;  // of fewer all are simulated

/// Whether some of the ensemble goes with the setting.
bool varies(const Setting& setting, const ModelSpec& model) {
  return std::any_of(model.ensemble.begin(), model.ensemble.end(), [&](const EnsembleSpec& each) {
    return std::find(setting.left_alone.begin(), setting.left_alone.end(), each.pointer) ==
           setting.left_alone.end();
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

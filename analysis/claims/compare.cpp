#include "analysis/claims/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/statistics/intervals.hpp"

namespace simsgd {

namespace {

constexpr double kNoEffect = std::numeric_limits<double>::quiet_NaN();

/// The quantity as an effect: above 0 where it is above `threshold`.
double effect_of(double quantity, double threshold, bool ratio) {
  if (!ratio) return quantity - threshold;
  return quantity > 0    ? std::log(quantity / threshold)
         : quantity <= 0 ? -std::numeric_limits<double>::infinity()
                         : kNoEffect;
}

struct Quantity {
  bool ratio;
  /// Of a mean effect, the quantity again.
  double back(double effect, double threshold) const {
    return ratio ? std::exp(effect) * threshold : effect + threshold;
  }
};

ClaimCell judged(const ClaimComparison& comparison, const std::vector<const JoinedCell*>& row) {
  const Quantity kind{comparison.quantity == ClaimComparison::Quantity::ratio};
  const double threshold = comparison.threshold();
  const double noise = kind.ratio ? std::log1p(comparison.noise) : comparison.noise;
  const double within = !comparison.within ? 0
                        : kind.ratio       ? std::log1p(*comparison.within)
                                           : *comparison.within;
  const auto effects = [&](const JoinedCell& cell) {
    std::vector<double> all;
    for (const auto& each : cell.quantity) all.push_back(effect_of(each.second, threshold, kind.ratio));
    return all;
  };
  Judged last = judge(effects(*row.back()), comparison.direction, noise, within);
  ClaimCell cell;
  cell.low = cell.high = kind.back(last.mean, threshold);
  if (!comparison.along.empty()) {  // each step up, seed by seed
    last.state = row.size() < 2 ? ClaimState::no_value : ClaimState::reproduced;
    for (std::size_t i = 1; i < row.size(); ++i) {
      std::vector<double> before = effects(*row[i - 1]), grown = effects(*row[i]);
      for (std::size_t s = 0; s < grown.size(); ++s) grown[s] -= s < before.size() ? before[s] : kNoEffect;
      last.state = std::max(last.state, judge(grown, comparison.direction, noise, within).state);
    }
  }
  const bool outside =
      (comparison.low && cell.low < *comparison.low) || (comparison.high && cell.high > *comparison.high);
  cell.state = last.state == ClaimState::reproduced && outside ? ClaimState::outside : last.state;
  return cell;
}

}  // namespace

Judged judge(const std::vector<double>& effects, ClaimComparison::Direction direction, double noise,
             double within) {
  using Direction = ClaimComparison::Direction;
  Judged judged;
  const auto is_infinite = [](double each) { return std::isinf(each); };
  const bool infinite = std::any_of(effects.begin(), effects.end(), is_infinite);
  judged.mean = effects.empty() ? kNoEffect : infinite ? 0 : statistics::mean(effects);
  if (infinite)
    for (const double each : effects) judged.mean += each;
  if (std::isnan(judged.mean)) {  // infinite on both sides is undecided; without a value there is nothing
    judged.state = infinite ? ClaimState::within_noise : ClaimState::no_value;
    return judged;
  }
  if (effects.size() > 1 && !infinite)
    judged.half_width = statistics::student_mean(effects).interval->half_width();
  const double apart = std::max(noise, judged.half_width), size = std::fabs(judged.mean);
  if (direction == Direction::close) {
    judged.state = size + judged.half_width <= within  ? ClaimState::reproduced
                   : size - judged.half_width > within ? ClaimState::reversed
                                                       : ClaimState::within_noise;
    return judged;
  }
  const bool above = judged.mean > apart, below = -judged.mean > apart;
  if (direction == Direction::not_above)
    judged.state = above ? ClaimState::reversed : ClaimState::reproduced;
  else if (!above && !below)
    judged.state = ClaimState::within_noise;
  else
    judged.state = above == (direction == Direction::above) ? ClaimState::reproduced : ClaimState::reversed;
  return judged;
}

std::vector<ClaimCell> judged_cells(const ClaimComparison& comparison,
                                    const std::vector<std::string>& for_all,
                                    const std::vector<JoinedCell>& cells) {
  std::vector<ClaimInputs> inputs;
  for (const JoinedCell& cell : cells) inputs.push_back(cell.inputs);
  std::set<std::string> pointers;
  for (const ClaimInputs& each : inputs)
    for (const auto& input : each) pointers.insert(input.first);
  std::vector<std::string> settled = for_all;
  if (!comparison.along.empty()) settled.push_back(comparison.along);
  std::set<std::string> dropped;
  for (const std::string& pointer : pointers)
    if (std::any_of(settled.begin(), settled.end(),
                    [&](const std::string& by) { return determines(inputs, by, pointer); }))
      dropped.insert(pointer);
  // Rows along `along`, then over all of `for_all`.
  std::map<ClaimInputs, std::vector<const JoinedCell*>> rows;
  for (const JoinedCell& cell : cells) {
    ClaimInputs key = cell.inputs;
    if (!comparison.along.empty()) key.erase(comparison.along);
    rows[key].push_back(&cell);
  }
  std::map<ClaimInputs, ClaimCell> judged_by_inputs;
  for (const auto& [key, row] : rows) {
    std::vector<std::vector<const JoinedCell*>> parts;
    if (comparison.along.empty())
      for (const JoinedCell* each : row) parts.push_back({each});
    else
      parts.push_back(row);
    for (const auto& part : parts) {
      ClaimCell cell = judged(comparison, part);
      cell.inputs = key;
      for (const std::string& pointer : dropped) cell.inputs.erase(pointer);
      const auto [at, added] = judged_by_inputs.emplace(cell.inputs, cell);
      if (added) continue;
      at->second.state = std::max(at->second.state, cell.state);
      at->second.low = std::fmin(at->second.low, cell.low);
      at->second.high = std::fmax(at->second.high, cell.high);
    }
  }
  std::vector<ClaimCell> all;
  for (auto& each : judged_by_inputs) all.push_back(std::move(each.second));
  return all;
}

}  // namespace simsgd

#include "analysis/calibration/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
  const double least = std::max(kExact, *std::min_element(mean_squares.begin(), mean_squares.end()));
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
    const bool all_equal = *std::min_element(open.begin(), open.end()) == last;
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

}  // namespace simsgd

#include "analysis/calibration/ensemble.hpp"

#include <algorithm>
#include <cmath>

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

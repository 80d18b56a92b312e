// What is unknown and discrete, such as the order of machines: every possibility is a member, and all of them
// predict, each with the weight that the measurements give it. Nobody picks the one that fits best.
#pragma once

#include <vector>

#include "analysis/calibration/points.hpp"

namespace simsgd {

/// Members of a model: the combinations of what its ensemble lists; 1 without.
std::size_t member_count(const ModelSpec& model);
/// What member `number` sets.
Patch member_patch(const ModelSpec& model, std::size_t number);

/// Weights whose sum is 1, from each member's mean square of (robust) logarithmic errors over `points`
/// measurements, of which `parameters` were fitted: the likelihood of normal errors of unknown size, all
/// members being as likely before.
std::vector<double> member_weights(const std::vector<double>& mean_squares, std::size_t points,
                                   std::size_t parameters);

/// A member that weighs less predicts nothing.
inline constexpr double kLeastWeight = 1e-4;

/// Mean of the members' predictions, of their logarithms: `predictions[m][i]`, empty of members without
/// weight.
std::vector<double> ensemble_mean(const std::vector<std::vector<double>>& predictions,
                                  const std::vector<double>& weights);

}  // namespace simsgd

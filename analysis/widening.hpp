// How much wider what is drawn is beyond where a cluster was calibrated: deviations are multiplied.
#pragma once

#include <algorithm>
#include <cmath>

namespace simsgd {

/// 1 + log2 of how far `value` lies beyond [low, high], as a factor; 1 inside, and where either is 0.
inline double range_widening(double low, double high, double value) {
  if (!(value > 0) || !(high > 0)) return 1;
  return 1 + std::log2(std::max({1.0, value / high, low / value}));
}

/// assumed: what a model whose parameters are of one number of workers misses per doubling, a standard
/// deviation. A ring with parameters of 2 and 4 GPUs is 3.9 % off for 8 in the mean over sizes, 9.6 % over
/// octaves (nccl_a100_workers, "one ring").
inline constexpr double kOneCountSigma = 0.05;

/// The same for workers. Of one number of workers nothing that was left out tells what the model misses
/// elsewhere: its own error, of standard deviation `model_error`, is as much wider as kOneCountSigma asks
/// for.
inline double workers_widening(double low, double high, double workers, double model_error) {
  const double usual = range_widening(low, high, workers);
  if (usual == 1 || low < high || !(model_error > 0)) return usual;
  return std::max(usual, std::hypot(model_error, kOneCountSigma * (usual - 1)) / model_error);
}

}  // namespace simsgd

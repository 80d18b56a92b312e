// How much wider what is drawn is beyond where a cluster was calibrated, and how far an interval reaches at
// least: as far as what was left out of the fit was off.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

/// Levels of all intervals, and how many standard deviations a normal one reaches.
inline constexpr std::array<double, 2> kIntervalLevels{0.5, 0.9};
inline constexpr std::array<double, 2> kNormalReach{0.674, 1.645};

/// Where a time lies with the probability `level`.
struct Interval {
  double level = 0.9, low = 0, high = 0;
};

/// How far off, as logarithms of times: of half, and of nine tenths of the cells. 0: nothing tells.
using Reach = std::array<double, 2>;

/// assumed: how far off times are of a workload, a method or a batch of which no cell was fitted, where no
/// part that was left out tells it. Nine tenths: 0.26, as far as two papers' networks were off that were left
/// out of fits to the others, held one of four jobs that nobody had seen; half: of a normal error that
/// reaches as far. WAGMA-SGD's 16 cells of which nothing is fitted (docs/papers/left_out.md) test it: 10 and
/// 15 lie inside.
inline constexpr Reach kUnlikeReach{0.35 * kNormalReach[0] / kNormalReach[1], 0.35};

/// Steps that are taken in proportion to a batch were 9 to 29 % too short at half of it: a factor of two from
/// all that were fitted is unlike them.
inline constexpr double kUnlikeBatch = 2;

inline bool batch_is_unlike(const std::vector<double>& fitted, double batch) {
  return std::none_of(fitted.begin(), fitted.end(), [batch](double each) {
    return std::max(each / batch, batch / each) < kUnlikeBatch * (1 - 1e-12);
  });
}

/// How far the intervals of a time reach at least, on both sides of what is predicted. `left_out`: of what
/// was left out of the fit; `usual`: range_widening of what it is predicted for; `one_count`: whether that is
/// of workers and one number of them was fitted; `unlike`: how many of workload, method and batch
/// are such that nothing tells of them.
inline Reach least_reach(const Reach& left_out, double usual, bool one_count, int unlike) {
  Reach reach{};
  for (std::size_t i = 0; i < reach.size(); ++i) {
    const double own = one_count ? kOneCountSigma * kNormalReach[i] * (usual - 1) : 0;
    reach[i] =
        std::max({left_out[i] * usual, std::hypot(left_out[i], own), kUnlikeReach[i] * std::sqrt(unlike)});
  }
  return reach;
}

}  // namespace simsgd

// How much wider what is drawn is beyond where a cluster was calibrated, and how far an interval reaches at
// least: as far as what was left out of the fit was off.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace simsgd {

/// How many doublings `value` lies beyond [low, high]; 0 inside, and where either is 0.
inline double doublings_beyond(double low, double high, double value) {
  if (!(value > 0) || !(high > 0)) return 0;
  return std::log2(std::max({1.0, value / high, low / value}));
}

/// How many doublings `value` lies from the nearest of some sizes.
template <class Sizes>
double doublings_to_nearest(const Sizes& sizes, double value) {
  double least = std::numeric_limits<double>::infinity();
  for (const double each : sizes) least = std::min(least, std::fabs(std::log2(value / each)));
  return least;
}

/// How much errors grow with each doubling beyond what was measured. Of workers: five sets of the book are
/// one doubling beyond (nccl_a100_workers, _nodes, nccl_devices_a100, throughput_10gbe, _ib100), and errors
/// there, by Student's t of the scale of what was left out, are likeliest with 0 to 0.3, whichever set is
/// left aside: the most of these.
inline constexpr double kWorkersGrowth = 0.3;

/// The same of bytes: what a model misses goes on as a random walk in the logarithm of the size, so that each
/// doubling adds as much variance as there is within what was measured. Nine specs of NCCL's all_reduce, from
/// which the three largest or smallest octaves were left out, are held to 44 and 85 % (docs/calibration.md).
inline double growth_with_bytes(double doublings) { return std::sqrt(1 + doublings); }

/// assumed: what a model whose parameters are of one number of workers misses per doubling, a standard
/// deviation. A ring with parameters of 2 and 4 GPUs is 3.9 % off for 8 in the mean over sizes, 9.6 % over
/// octaves (nccl_a100_workers, "one ring"). What was left out tells nothing of it.
inline constexpr double kOneCountSigma = 0.05;

/// Levels of all intervals, and how many standard deviations a normal one reaches.
inline constexpr std::array<double, 2> kIntervalLevels{0.5, 0.9};
inline constexpr std::array<double, 2> kNormalReach{0.674, 1.645};

/// Where a time lies with the probability `level`.
struct Interval {
  double level = 0.9, low = 0, high = 0;
};

/// How far off, as logarithms of times: of half, and of nine tenths of the cells. 0: nothing tells.
using Reach = std::array<double, 2>;

/// Sizes are told apart by so many doublings.
inline constexpr double kSizeStep = 0.125;

/// Of an operation among workers that were measured, at a size that lies so many `doublings` from the nearest
/// measured one. `fitted`: how far the fit is off at its own sizes; `left_out`: at sizes that were left out,
/// `apart` doublings from the others. Between the two the variance goes in proportion, and from there on as
/// growth_with_bytes.
inline Reach reach_at_size(const Reach& fitted, const Reach& left_out, double doublings, double apart) {
  Reach reach = left_out;
  const double share = std::min(1.0, doublings / apart);
  for (std::size_t i = 0; i < reach.size(); ++i) {
    const double least = std::min(fitted[i], left_out[i]);
    reach[i] = std::sqrt(least * least * (1 - share) + left_out[i] * left_out[i] * share) *
               growth_with_bytes(std::max(0.0, doublings - apart));
  }
  return reach;
}

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
  return std::ranges::none_of(fitted, [batch](double each) {
    return std::max(each / batch, batch / each) < kUnlikeBatch * (1 - 1e-12);
  });
}

/// How far off operations were that were not fitted, where others of the same device were: of
/// all_gather and reduce_scatter from all_reduce, which pass around the same rings, and of all_to_all. Half
/// and nine tenths of the cells of 2 and 4 A100, H100, B200 and L40S (nccl_devices). From the others, each
/// device's cells are held as docs/calibration.md says.
inline constexpr Reach kRingReach{0.034, 0.126}, kUnlikeOperationReach{0.109, 0.267};

/// Of an operation beside those that were fitted; nothing where it was, or nobody wrote these down.
inline Reach operation_reach(const std::vector<std::string>& fitted, const std::string& operation) {
  if (fitted.empty() || operation.empty() || std::ranges::find(fitted, operation) != fitted.end()) return {};
  const auto on_rings = [](const std::string& each) {
    return each == "all_reduce" || each == "all_gather" || each == "reduce_scatter";
  };
  return on_rings(operation) && std::ranges::any_of(fitted, on_rings) ? kRingReach : kUnlikeOperationReach;
}

/// How far the intervals of a time reach at least, on both sides of what is predicted. `left_out`: of what
/// was left out of the fit; `widening`: how much more errors are for this; `own_doublings`: of workers,
/// beyond the one number that was fitted; `unlike`: how many of workload, method and batch are such that
/// nothing tells of them; `operation`: operation_reach.
inline Reach least_reach(const Reach& left_out, double widening, double own_doublings, int unlike,
                         const Reach& operation = {}) {
  Reach reach{};
  for (std::size_t i = 0; i < reach.size(); ++i)
    reach[i] = std::max({std::max(left_out[i], operation[i]) * widening,
                         std::hypot(left_out[i], kOneCountSigma * kNormalReach[i] * own_doublings),
                         kUnlikeReach[i] * std::sqrt(unlike)});
  return reach;
}

}  // namespace simsgd

// What a straggler fit is made of: times as a table of workers and steps, their covariances at lags, what a
// sum of AR(1) kernels gives for these, and the split of a series into its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simsgd::calibration {

/// How long a worker computed in a step.
struct WorkerStep {
  int worker = 0;
  std::uint64_t step = 0;
  double seconds = 0;
};

/// The steps in which every worker was measured.
struct StepTable {
  std::vector<int> workers = {};                  ///< as the rows name them, ascending
  std::vector<std::uint64_t> steps = {};          ///< the same
  std::vector<std::vector<double>> times_s = {};  ///< of each worker, by step
  std::size_t dropped = 0;                        ///< rows of steps that some worker lacks

  std::size_t count() const { return steps.size(); }
};

double mean_of(std::span<const double> values);

/// Throws std::invalid_argument, naming worker and step, for a time that is not above 0 and for a row that
/// comes twice.
StepTable step_table(std::span<const WorkerStep> rows);
/// The steps [first, first + count) of a table.
StepTable part(const StepTable& table, std::size_t first, std::size_t count);

/// Whether a series stays in its regime: quarters of it, and blocks of these. F compares the blocks' means of
/// the logarithm of the slowest worker's time between quarters and within them (analysis of variance;
/// correlated steps make it too large, so only p below kRegimeLevel counts). Of fewer than kFewestOfRegimes
/// steps nothing is told.
struct Regimes {
  std::vector<StepTable> quarters{};
  double f = 0, p = 1;
  bool differ = false;
};
inline constexpr std::size_t kQuarters = 4, kFewestOfRegimes = 64;
inline constexpr double kRegimeLevel = 0.001;
Regimes regimes_of(const StepTable& table);
/// Equal parts, one after the other; steps at the end that fill none are left out.
std::vector<StepTable> parts(const StepTable& table, std::size_t count);
/// The slowest worker's time of each step.
std::vector<double> slowest_of(const StepTable& table);

/// Covariances of ln(time) with each worker's mean taken off, at lags 0 to `lags`.
struct Covariances {
  std::vector<std::vector<double>> own;  ///< of each worker with itself
  std::vector<double> cross;             ///< mean over pairs of different workers; 0 of a single worker
};
Covariances covariances(const std::vector<std::vector<double>>& logs, std::size_t lags);

/// What such a covariance is expected to be of n steps of a chain of variance 1 and correlations rho^lag:
/// below rho^lag, since the mean of few steps takes slow changes with it. Exact.
std::vector<double> expected_covariance(double rho, std::size_t n, std::size_t lags);
/// Variance of the mean of n steps of that chain.
double mean_variance(double rho, std::size_t n);

/// A stationary Gaussian AR(1).
struct Chain {
  double variance = 0, rho = 0;
};
/// The expected values of the chain `wanted` given the sum of it and the chain `other`: Kalman filter and
/// smoother (Rauch, Tung, Striebel, AIAA Journal 3, 1965). Variances above 0.
std::vector<double> smoothed(const std::vector<double>& sum, const Chain& wanted, const Chain& other);

// The second moments of a straggler fit: variances and memories of fast, slow and common noise
// (straggler_fit.hpp).

/// Of logarithms.
struct Memories {
  std::vector<double> fast_variances, slow_variances;  ///< of each worker
  double fast_rho = 0, slow_rho = 0;                   ///< correlation of neighbouring steps
  double common_variance = 0, common_rho = 0;
};

/// logs: ln(time) of each worker by step.
Memories fit_memories(const std::vector<std::vector<double>>& logs);

/// Steps until a correlation rho of neighbours has become 1/e; 0 for none.
double steps_of(double rho);

}  // namespace simsgd::calibration

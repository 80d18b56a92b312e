// Least squares inside bounds: Levenberg-Marquardt with dense QR, by Ceres. Ceres is linked by a library of
// ours that is opened when something is fitted (sim/base/this_program.hpp).
#pragma once

#include <optional>
#include <vector>

namespace simsgd {

struct LeastSquares {
  virtual ~LeastSquares() = default;
  /// Residuals at x and, where `slopes` is not null, their derivatives: a row for each residual. False where
  /// there are none at x.
  virtual bool evaluate(const double* x, double* residuals, double* slopes) = 0;

  int residuals = 0;
  std::vector<double> low, high;  ///< bounds, of each parameter
  int iterations = 0;
  double tolerance = 0;              ///< of the loss, relative
  std::optional<double> radius;      ///< of the first trust region; Ceres' own otherwise
  std::optional<int> most_failures;  ///< steps in vain, one after another, that end it
};

/// Moves x to the least that it finds. Half the sum of squares there; infinity where nothing was found.
double solve_least_squares(LeastSquares& problem, std::vector<double>& x);

}  // namespace simsgd

// The least of the robust sum of squares inside the bounds (Ceres, Levenberg-Marquardt). Where points are
// runs a prediction is a simulation: slopes are then carried along with the steps that were made, by
// Broyden's update (Math. Comp. 19, 1965, doi:10.1090/S0025-5718-1965-0198670-6) of what is not 0 by itself
// (Schubert, Math. Comp. 24, 1970, doi:10.1090/S0025-5718-1970-0258276-9), and simulated anew for each round
// alone.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/calibration/fit.hpp"

namespace simsgd {

/// Half the robust square of r is 1/2 h(r)^2: as r^2 / 2 near 0, in proportion to |r| beyond `outlier`.
double robust_root(double r, double outlier);
/// dh / dr.
double robust_slope(double r, double outlier);

struct Solved {
  std::vector<double> x;  ///< on the parameters' scales
  double loss = std::numeric_limits<double>::infinity();
  Slopes slopes;
};

/// What is fitted to what, and how. All that it names must outlive it.
struct FitProblem {
  const Predictor& predictor;
  const Points& points;
  const ModelSpec& model;
  const WeightedPoints& what;
  const Patch& tables;
  const FitSettings& settings;
};

class Solver {
 public:
  explicit Solver(const FitProblem& problem);

  /// Infinite loss where nothing could be predicted. Throws Interrupted.
  Solved solve(std::vector<double> x, int iterations, double tolerance);

 private:
  Solved one_round(std::vector<double> x, int iterations, double tolerance);
  friend class Residuals;
  /// Logarithms of predictions at x; slopes too where they are wanted. False where something is not
  /// predicted.
  bool evaluate(const std::vector<double>& x, Eigen::VectorXd& logs, bool with_slopes);
  bool simulate_slopes(const std::vector<double>& x, Eigen::VectorXd& logs);
  void carry_slopes(const std::vector<double>& x, const Eigen::VectorXd& logs);
  Eigen::VectorXd logs_of(const std::vector<double>& predicted) const;
  const Eigen::VectorXd& logs_at(const std::vector<double>& x);
  Patch patch_at(const std::vector<double>& x) const;

  FitProblem fit_;
  std::vector<std::pair<std::size_t, double>>
      usual_;                   ///< parameters, and where they usually are on their scales
  Eigen::VectorXd measured_;    ///< logarithms
  Eigen::MatrixXd goes_with_;   ///< 1 where a point goes with a parameter, else 0
  Eigen::MatrixXd slopes_;      ///< a row for each point; empty: not known
  std::vector<double> last_x_;  ///< where they were taken or carried to; empty: elsewhere
  Eigen::VectorXd last_logs_;
  std::vector<double> seen_x_;  ///< of the last prediction
  Eigen::VectorXd seen_logs_;
};

}  // namespace simsgd

// The library that links Ceres.
#include <ceres/ceres.h>

#include <limits>

#include "analysis/calibration/least_squares.hpp"

namespace {

class Residuals final : public ceres::CostFunction {
 public:
  explicit Residuals(simsgd::LeastSquares& problem) : problem_(problem) {
    mutable_parameter_block_sizes()->push_back(static_cast<int>(problem.low.size()));
    set_num_residuals(problem.residuals);
  }

  bool Evaluate(double const* const* x, double* residuals, double** slopes) const override {
    return problem_.evaluate(x[0], residuals, slopes != nullptr ? slopes[0] : nullptr);
  }

 private:
  simsgd::LeastSquares& problem_;
};

class EndInVain final : public ceres::IterationCallback {
 public:
  explicit EndInVain(int most) : most_(most) {}

  ceres::CallbackReturnType operator()(const ceres::IterationSummary& summary) override {
    failures_ = summary.step_is_successful ? 0 : failures_ + 1;
    return failures_ < most_ ? ceres::SOLVER_CONTINUE : ceres::SOLVER_TERMINATE_SUCCESSFULLY;
  }

 private:
  int most_, failures_ = 0;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) double simsgd_solve_least_squares(
    simsgd::LeastSquares& least, double* x) {
  Residuals residuals(least);
  ceres::Problem::Options keep;
  keep.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(keep);
  problem.AddResidualBlock(&residuals, nullptr, x);
  for (std::size_t j = 0; j < least.low.size(); ++j) {
    problem.SetParameterLowerBound(x, static_cast<int>(j), least.low[j]);
    problem.SetParameterUpperBound(x, static_cast<int>(j), least.high[j]);
  }
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = least.iterations;
  options.function_tolerance = least.tolerance;
  options.num_threads = 1;
  // At bounds a smaller radius does as well as a search along the step, each place of which takes slopes.
  options.max_num_line_search_step_size_iterations = 0;
  if (least.radius) options.initial_trust_region_radius = *least.radius;
  EndInVain end_in_vain(least.most_failures.value_or(0));
  if (least.most_failures) options.callbacks.push_back(&end_in_vain);
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return summary.IsSolutionUsable() ? summary.final_cost : std::numeric_limits<double>::infinity();
}

#include "analysis/calibration/least_squares.hpp"

#include "sim/base/own_library.hpp"

namespace simsgd {

double solve_least_squares(LeastSquares& problem, std::vector<double>& x) {
  static const auto solve = reinterpret_cast<double (*)(LeastSquares&, double*)>(
      function_of_own_library("libsimsgd_ceres.so", "simsgd_solve_least_squares"));
  return solve(problem, x.data());
}

}  // namespace simsgd

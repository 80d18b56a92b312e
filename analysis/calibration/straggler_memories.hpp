// The second moments of a straggler fit: variances and memories of fast, slow and common noise
// (straggler_fit.hpp).
#pragma once

#include <vector>

namespace simsgd::calibration {

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

// What a forward and backward pass takes by its samples, where more is known of a network and a device than
// one time: a fixed cost and a cost for each sample, or measurements by batch.
//   T(b) = fixed_s + b per_sample_s;  or between two measurements on logarithmic scales:
//   T(b) = T_i (T_j / T_i)^(log(b / b_i) / log(b_j / b_i)),  b_i <= b <= b_j
// The fixed cost is what does not depend on the samples: launches, the optimizer's update, a framework's
// overhead per pass. Between measurements the curve is off by its curvature: for T = c + b s at batches a
// factor of 2 apart by 1.5 % at most, 4 apart by 6.1 %. A table holds inside its range only. Test:
// tests/scenarios/step_cost.cpp.
#pragma once

#include <vector>

namespace simsgd {

struct StepLaw {
  struct Time {
    double samples = 1;
    double seconds = 0;
  };
  double fixed_s = 0, per_sample_s = 0;
  std::vector<Time> times{};  ///< by ascending samples; empty: by the two costs

  /// Of one pass, forward and backward. Of a table only where it `holds`.
  double seconds(double samples) const;
  bool holds(double samples) const;
};

}  // namespace simsgd

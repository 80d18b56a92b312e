// What the simulator says of points, for values of the parameters. Collectives and messages are costed in
// this process; runs are simulated in children.
#pragma once

#include <vector>

#include "analysis/calibration/points.hpp"

namespace simsgd {

class Predictor {
 public:
  /// `jobs`: children at a time.
  Predictor(const Points& points, int jobs) : points_(points), jobs_(jobs) {}

  /// Of the points `which`, in their units, for each patch. NaN where the simulator cannot say (a run that
  /// fails).
  std::vector<std::vector<double>> predict(const std::vector<Patch>& patches,
                                           const std::vector<std::size_t>& which) const;
  std::vector<double> predict(const Patch& patch, const std::vector<std::size_t>& which) const {
    return predict(std::vector<Patch>{patch}, which).front();
  }

 private:
  const Points& points_;
  int jobs_;
};

}  // namespace simsgd

// Where a model was fitted, and how much wider intervals are beyond, and of runs unlike what was fitted.
#pragma once

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "analysis/calibration/uncertainty.hpp"

namespace simsgd {

/// Where it was fitted: beyond, deviations are multiplied as in runs (analysis/widening.hpp).
class FittedRange {
 public:
  FittedRange(const Fitter& fitter, const Uncertainty& uncertainty)
      : points_(fitter.points()), uncertainty_(uncertainty) {
    for (const Point& point : points_.points) {
      if (!point.fitted) continue;
      workers_.extend(point.measurement.workers);
      bytes_.extend(point.bytes());
    }
    workloads_ = names_of_runs(points_, fitter.fitted_points(), "/workload");
    algorithms_ = names_of_runs(points_, fitter.fitted_points(), "/algorithm");
  }
  double widening(const Point& point) const {
    return std::max(
        workers_widening(workers_.low, workers_.high, point.measurement.workers, uncertainty_.model_sigma),
        range_widening(bytes_.low, bytes_.high, point.bytes()));
  }
  Reach reach(std::size_t i) const {
    const Measurement& point = points_.points[i].measurement;
    const int unlike = (!uncertainty_.workloads && is_unlike(i, "/workload", workloads_) ? 1 : 0) +
                       (!uncertainty_.algorithms && is_unlike(i, "/algorithm", algorithms_) ? 1 : 0);
    const double usual = std::max(range_widening(workers_.low, workers_.high, point.workers),
                                  range_widening(bytes_.low, bytes_.high, points_.points[i].bytes()));
    return least_reach(uncertainty_.reach, usual, workers_.low == workers_.high, unlike);
  }

 private:
  struct Range {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    void extend(double value) {
      if (!(value > 0)) return;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  };
  /// Of a run; collectives tell nothing of workloads.
  bool is_unlike(std::size_t i, const char* section, const std::set<std::string>& fitted) const {
    if (fitted.empty()) return false;
    const std::set<std::string> own = names_of_runs(points_, {i}, section);
    return !own.empty() && !fitted.contains(*own.begin());
  }

  const Points& points_;
  const Uncertainty& uncertainty_;
  Range workers_, bytes_;
  std::set<std::string> workloads_, algorithms_;
};

}  // namespace simsgd

// One point of a sweep in a worker: made ready there, run in a child of it, and the answer that the child
// sends back.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analysis/store/run_row.hpp"
#include "analysis/sweeps/point_loader.hpp"
#include "analysis/sweeps/sweep.hpp"

namespace simsgd {

class PointRunner {
 public:
  /// Both must outlive it.
  PointRunner(const Study& study, const SweepSettings& settings);

  /// Makes ready what points have in common; what is returned runs the point, in a child.
  std::function<std::string()> prepare(const SweepPoint& point);

 private:
  RunRow run(const Scenario& scenario, const SweepPoint& point) const;

  const Study& study_;
  const SweepSettings& settings_;
  PointLoader loader_;
  std::optional<Job> job_;
};

/// What a child answered. Its key is not in it.
RunRow run_of(const std::string& answer);

}  // namespace simsgd

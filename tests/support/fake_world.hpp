// A cluster without time and without SimGrid: ranks are threads of which one runs at a time, and everything
// that can be complete is. For the arithmetic of algorithms, and as a further implementation of Worker's
// roles, all of them, that keeps the boundary honest.
#pragma once

#include <vector>

#include "sim/job.hpp"
#include "sim/observer.hpp"

namespace simsgd::test {

/// What the ranks had at the end.
struct FakeResult {
  std::vector<std::vector<float>> models;   ///< by rank
  std::vector<std::vector<double>> losses;  ///< by rank: of each gradient that was used
};

/// Runs `job.algorithm` for `job.stop.steps` steps on `job.workers()` ranks. Rethrows what a rank throws
/// first; RunError where ranks wait for ever.
FakeResult run_fake(const Job& job, const std::vector<Observer*>& observers = {});

}  // namespace simsgd::test

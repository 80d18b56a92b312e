// A cluster without time and without SimGrid: every rank is a thread, collectives and messages deliver at
// once. For the arithmetic of algorithms, and as a second implementation of Worker that keeps the boundary
// honest.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/job.hpp"

namespace simsgd::test {

/// What the ranks had at the end.
struct FakeResult {
  std::vector<std::vector<float>> models;   ///< by rank
  std::vector<std::vector<double>> losses;  ///< by rank and step: mini-batch losses
};

/// Runs `job.algorithm` for `job.stop.steps` steps on `job.workers()` ranks. Rethrows what a rank throws
/// first.
FakeResult run_fake(const Job& job);

}  // namespace simsgd::test

// Preemption: a gradient that is computed while the main thread waits for something else, and may be given
// up.
#pragma once

#include "sim/handle.hpp"
#include "sim/roles/compute.hpp"

namespace simsgd {

/// What a running gradient will give; Preemption::take hands it over.
struct RunningGradient {
  Tensor gradient;
};

/// One gradient at a time for each worker.
class Preemption {
 public:
  virtual ~Preemption() = default;
  /// The same as Compute::gradient without waiting, and without hooks.
  virtual Handle<RunningGradient> start(const GradientOptions& options) = 0;
  virtual void cancel(const Handle<RunningGradient>& gradient) = 0;
  /// Of a gradient that is complete; counts its samples as used.
  virtual Tensor take(const Handle<RunningGradient>& gradient) = 0;
};

}  // namespace simsgd

// What a machine supplies so that a worker can compute: its clock and its device. The simulation moves a
// number; a real machine works or sleeps. Everything else about computing (step costs, stragglers, crashes,
// mini-batches, hooks) is the same on all of them: Compute.
#pragma once

#include <functional>

#include "sim/learn/tensor.hpp"
#include "sim/record.hpp"

namespace simsgd {

class Machine {
 public:
  virtual ~Machine() = default;

  virtual double now() const = 0;  ///< seconds since the start, as this worker sees them

  /// The device computes for `seconds` x `straggle`; what stragglers add is booked apart.
  virtual void compute(double seconds, double straggle) = 0;
  /// The main thread does `activity` for `seconds`; timelines call it `label`.
  virtual void spend(Activity activity, double seconds, const char* label) = 0;

  /// Whether values take their own time to be computed here: then `evaluate` is called, and `compute` is not.
  virtual bool evaluates() const = 0;
  /// Computes `value` now, as `activity`, and makes its time `straggle` times as long.
  virtual void evaluate(const Tensor& value, Activity activity, double straggle) = 0;

  /// How long before the end of a backward pass what follows it may begin, seconds.
  virtual double backward_overlap_s() const = 0;
  /// The last `seconds` (stragglers included) of a backward pass go on beside what follows.
  virtual void compute_beside(double seconds, double straggle) = 0;
  /// Waits for that.
  virtual void finish_beside() = 0;

  /// The worker is down until `until_s`; `restart` is called when it is back.
  virtual void outage(double until_s, const std::function<void()>& restart) = 0;
  /// What was due in the background meanwhile happens.
  virtual void catch_up() = 0;
  /// A gradient is through.
  virtual void gradient_computed() {}
};

}  // namespace simsgd

// When a simulated run ends (StopRule, Target). Where workers need each other they end by themselves, each
// after the same step; else, and where a target ends the run, it is over at an instant, wherever each of them
// is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/job.hpp"
#include "sim/observer.hpp"

namespace simsgd {

class RunEnd final : public Observer {
 public:
  /// `over` is called once, when the run is over at that instant; nobody begins a step after that.
  RunEnd(const Job& job, std::function<void(double at_s)> over);

  /// Workers' steps end in the order of time, because something depends on it.
  bool in_time_order() const { return in_time_order_; }
  /// Workers do not need each other.
  bool alone() const { return alone_; }

  /// Whether a worker that has completed `steps` begins another one at `now_s`.
  bool goes_on(std::uint64_t steps, double now_s);
  /// A worker has begun its step `step`.
  void begun(std::uint64_t step);
  void gradient_used(int, std::uint64_t, const Tensor&, double samples) override { used_samples_ += samples; }
  /// A worker has completed a step, in which it used so many samples.
  void completed(double samples, double now_s);
  /// The run is over now.
  void end(double at_s);
  std::optional<double> over_s() const { return over_s_; }

 private:
  bool enough_samples(std::uint64_t steps) const;

  const Job& job_;
  std::function<void(double)> over_;
  bool alone_, in_time_order_;
  std::optional<double> over_s_;
  // Of workers that need each other:
  bool stopping_ = false;        // nobody begins a step beyond last_step_
  std::uint64_t last_step_ = 0;  // the highest that anybody has begun
  double begun_steps_ = 0, used_samples_ = 0;
  // Of others:
  double completed_steps_ = 0, completed_samples_ = 0;
};

}  // namespace simsgd

// When a simulated run ends (StopRule, Target): at an instant, wherever its workers are then. What is not
// complete when all that happens at that instant has happened does not count. Only `steps` can end a run
// without: where workers need each other each of them does so many, and the run is over with the last one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/job.hpp"

namespace simsgd {

class RunEnd {
 public:
  /// `over` is called once, when the run is over at that instant; nobody begins a step after that.
  RunEnd(const Job& job, std::function<void(double at_s)> over);

  /// Workers' steps end in the order of time, because something depends on it.
  bool in_time_order() const { return in_time_order_; }

  /// A worker that has completed `steps` does no more of them, however long the run goes on.
  bool has_all(std::uint64_t steps) const { return !alone_ && steps >= job_.stop.steps; }
  /// What begins at `now_s` would not count.
  bool is_over(double now_s) const;
  /// A worker has completed a step, in which it used so many samples.
  void completed(double samples, double now_s);
  /// The run is over now.
  void end(double at_s);
  std::optional<double> over_s() const { return over_s_; }

 private:
  const Job& job_;
  std::function<void(double)> over_;
  bool alone_;  // workers do not need each other
  bool in_time_order_;
  std::optional<double> over_s_;
  double completed_steps_ = 0, completed_samples_ = 0;
};

}  // namespace simsgd

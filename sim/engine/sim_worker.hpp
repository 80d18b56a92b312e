// The simulated Worker: the roles of one fiber, put together, and its steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/engine/sim_roles.hpp"
#include "sim/job.hpp"
#include "sim/recording/rounds.hpp"

namespace simsgd {

// When a simulated run ends (StopRule, Target): at an instant, wherever its workers are then. What is not
// complete when all that happens at that instant has happened does not count. Only `steps` can end a run
// without: where workers need each other each of them does so many, and the run is over with the last one.

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

class SimWorker final : public Worker {
 public:
  /// What steps need beside the world. `progress` may be empty; called by rank 0 at each step.
  struct Steps {
    RunEnd& end;
    std::function<std::optional<double>()> target_met_s;
    std::function<void(std::uint64_t)> progress;
  };
  SimWorker(int rank, World& world, Steps& steps, const Tensor& initial_model,
            const std::vector<SimBackground*>& backgrounds);

  double now() const override { return clock_.now(); }
  std::uint64_t step() const override { return step_; }
  bool next_step() override;
  void wait(Awaited handle) override { clock_.wait(handle); }
  std::size_t wait_any(std::span<const Awaited> handles) override { return clock_.wait_any(handles); }
  bool done(Awaited handle) override { return clock_.done(handle); }

  SimBackground& sim_background() { return background_; }
  SimClock& clock() { return clock_; }
  /// The replica at this instant, at which the simulation's clock stands.
  ModelAtInstant model_now() const {
    return clock_.is_serving() ? ModelAtInstant{completed_.step, replica_.parameters()} : completed_;
  }
  /// What crashes cost it, in a run that was over at `over_s`; nothing where nothing fails.
  std::optional<Crashes::Totals> crash_totals(double over_s);
  void ended() {
    clock_.begin_held();
    world_.ledgers.of(rank()).end_run(clock_.local());
    runs_ = false;
  }
  bool runs() const { return runs_; }  ///< false once its algorithm has returned
  /// True while the actor sleeps for something whose end is not known: a deadlock, if it stays so.
  bool blocked() const { return clock_.blocked() && !at_end_; }

 private:
  void end_step();

  World& world_;
  Steps& steps_;
  SimClock clock_;
  Replica replica_;
  Compute compute_;
  SimMessages messages_;
  SimCollectives collectives_;
  Recorder recorder_;
  SimBackground background_;
  SimPreemption preemption_;
  std::uint64_t step_ = 0;
  double step_begin_s_ = 0;
  ModelAtInstant completed_;  // after the last step that is complete
  bool runs_ = true;
  bool at_end_ = false;  // waits for the end of the run
};

}  // namespace simsgd

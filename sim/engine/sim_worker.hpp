// The simulated Worker: the roles of one fiber, put together, and its steps.
#pragma once

#include "sim/engine/run_end.hpp"
#include "sim/engine/sim_roles.hpp"
#include "sim/recording/rounds.hpp"

namespace simsgd {

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

// Gradients that can be given up, for real: the executor's thread computes one while the main thread waits.
// A gradient in progress is given up between two layers, so that the next one
// need not wait for the rest of it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "measure/mpi_clock.hpp"
#include "measure/mpi_progress.hpp"
#include "sim/job.hpp"
#include "sim/learn/gradient.hpp"
#include "sim/roles/preemption.hpp"

namespace simsgd {

class MpiPreemption final : public Preemption, public MpiProgress::Part {
 public:
  struct Setup {
    const Job& job;
    Executor& executor;
    MpiClock& clock;
    Compute& compute;
    Replica& replica;
    const std::uint64_t& step;  ///< of the worker
    int rank = 0;
  };
  explicit MpiPreemption(const Setup& setup) : of_(setup) {}

  Handle<RunningGradient> start(const GradientOptions& options) override;
  void cancel(const Handle<RunningGradient>& gradient) override;
  Tensor take(const Handle<RunningGradient>& gradient) override;

  /// Begins to compute once stragglers' delays are over, and completes.
  void progress() override;
  bool idle() const override { return !running_ || running_.pending()->known(); }

 private:
  void compute();
  void stop();

  Setup of_;
  Handle<RunningGradient> running_;  // neither taken nor cancelled
  Tensor parameters_;                // at which it is taken
  BatchOf batch_;
  StepCost cost_;
  std::vector<Crashes::Outage> outages_;  // that hit it, until it is through
  double seconds_ = 0;                    // that it takes without them, by the workload
  double begin_s_ = 0;                    // its delays are over
  double end_s_ = Pending::kUnknown;
  bool begun_ = false;
  std::shared_ptr<std::atomic<bool>> given_up_;  // shared with the executor's thread
};

}  // namespace simsgd

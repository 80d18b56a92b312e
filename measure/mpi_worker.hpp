// The real Worker: one MPI process, the wall clock, and the same algorithms as in the simulation. Computing
// is the same as there, on a device of its own (mpi_clock.hpp); messages without values carry zeros of the
// workload's sizes.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <span>

#include "measure/common_end.hpp"
#include "measure/communicators.hpp"
#include "measure/curve_collector.hpp"
#include "measure/event_tape.hpp"
#include "measure/machine.hpp"
#include "measure/mpi_background.hpp"
#include "measure/mpi_clock.hpp"
#include "measure/mpi_collectives.hpp"
#include "measure/mpi_messages.hpp"
#include "measure/mpi_preemption.hpp"
#include "measure/mpi_progress.hpp"
#include "measure/waiting.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/recording/step_log.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// A real run has no way to see that nothing will ever happen again: it gives up after waiting so long.
inline constexpr double kPatience_s = 600;

/// How a job is run for real.
struct RealRun {
  double patience_s = kPatience_s;
  /// Values are computed, but time is the workload's: what a simulation can be compared with.
  bool emulates = false;
  bool logs_steps = false;
  bool scenario_schedules = false;  ///< instead of MPI's own
};

class MpiWorker final : public Worker {
 public:
  /// Collective, as is `finish`. The job has as many workers as `world` has ranks.
  MpiWorker(const Job& job, MPI_Comm world, const RealRun& how);
  explicit MpiWorker(const Job& job, MPI_Comm world, double patience_s = kPatience_s)
      : MpiWorker(job, world, RealRun{.patience_s = patience_s}) {}

  /// Runs the job's algorithm to its end, or to that of the run.
  void train();

  /// Before the first step.
  void attach(Observer& observer) { observers_.attach(observer); }

  double now() const override { return run_clock_.now(); }
  std::uint64_t step() const override { return step_; }
  bool next_step() override;

  using Worker::wait_any;
  void wait(Awaited handle) override { wait_any({&handle, 1}); }
  std::size_t wait_any(std::span<const Awaited> handles) override;
  bool done(Awaited handle) override;

  /// After the algorithm has ended on this rank: waits for all, and brings all records to rank 0. Elsewhere
  /// the record is empty.
  RunRecord finish();
  /// On rank 0, after `finish`: every worker and step, where RealRun asks for them.
  const std::vector<StepRow>& steps() const { return steps_; }
  /// On rank 0, after `finish`, where the scenario asks for one; else empty.
  Timeline take_timeline() { return std::move(timeline_); }
  /// On rank 0, after `finish`: why the times may not be trusted.
  const std::vector<Note>& doubts() const { return doubts_; }

 private:
  void start_clock();
  void book_host(std::span<const Awaited> handles);
  void end_step();
  /// All ranks stop the clock and do `action`; then each goes on as much later as all others do.
  void meet(const std::function<void()>& action);
  void meet_there();
  std::vector<double> step_times_until(double over_s);
  void gather_failures(RunRecord& record);

  const Job& job_;
  MPI_Comm world_ = MPI_COMM_NULL;  // of meetings
  RealRun how_;
  Executor executor_{2};  // one thread computes while this one looks after messages
  RunClock run_clock_;
  Trust trust_;
  double calendar_offset_s_ = 0;
  std::vector<Note> doubts_;
  std::unique_ptr<StepLog> step_log_;  // null where nobody asks
  std::vector<StepRow> steps_;
  std::unique_ptr<EventTape> tape_;  // null where no timeline is asked for
  Timeline timeline_{TimelineSetup{}};
  Observers observers_;
  RealRank self_;
  LedgerBook ledger_;
  LateSteps late_;
  Notebook notebook_;
  MpiProgress progress_;
  MpiClock clock_;
  Communicators communicators_;
  MpiCollectives collectives_;
  MpiMessages messages_;
  PassTimes times_;
  Replica replica_;
  Compute compute_;
  Recorder recorder_;
  MpiBackground background_;
  MpiPreemption preemption_;
  CurveCollector curve_;
  CommonEnd end_;
  std::uint64_t step_ = 0, completed_ = 0;
  double step_begin_s_ = 0;
  bool over_ = false;
};

}  // namespace simsgd

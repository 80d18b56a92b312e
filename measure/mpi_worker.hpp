// The real Worker: one MPI process, the wall clock, and the same algorithms as in the simulation. Computing
// is the same as there, on a device of its own (mpi_clock.hpp); messages without values carry zeros of the
// workload's sizes. Background and preemption are not offered.
#pragma once

#include <mpi.h>

#include <functional>
#include <span>

#include "measure/communicators.hpp"
#include "measure/curve_collector.hpp"
#include "measure/mpi_clock.hpp"
#include "measure/mpi_collectives.hpp"
#include "measure/mpi_messages.hpp"
#include "measure/mpi_progress.hpp"
#include "measure/run_clock.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// A real run has no way to see that nothing will ever happen again: it gives up after waiting so long.
inline constexpr double kPatience_s = 600;

class MpiWorker final : public Worker {
 public:
  /// Collective, as is `finish`. The job has as many workers as `world` has ranks.
  MpiWorker(const Job& job, MPI_Comm world, double patience_s = kPatience_s);

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

 private:
  void end_step();
  /// All ranks stop the clock and do `action`; then each goes on as much later as all others do.
  void meet(const std::function<void()>& action);
  void meet_there();
  void gather_failures(RunRecord& record);

  const Job& job_;
  MPI_Comm world_ = MPI_COMM_NULL;  // of meetings
  Executor executor_{1};
  RunClock run_clock_;
  Observers observers_;
  LedgerBook ledger_;
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
  CurveCollector curve_;
  std::uint64_t step_ = 0;
  double step_begin_s_ = 0;
  bool over_ = false;
};

}  // namespace simsgd

// The real Worker: one MPI process, the wall clock, and the same algorithms as in the simulation.
//
// With a learner the gradient is computed, whole and on one thread, when an algorithm asks for it: its time
// is compute time, and the callbacks of its layers come right after it. Without a learner the workload's
// times are slept through, layer by layer, and messages carry zeros of the workload's sizes. Every second of
// the main thread is booked: what passes in the algorithm's own code between two calls is host time.
// Background handlers and gradients that can be cancelled are not offered.
#pragma once

#include <mpi.h>

#include <functional>
#include <span>

#include "measure/communicators.hpp"
#include "measure/curve_collector.hpp"
#include "measure/mpi_collectives.hpp"
#include "measure/mpi_mailroom.hpp"
#include "measure/run_clock.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/step_cost.hpp"

namespace simsgd {

/// A real run has no way to see that nothing will ever happen again: it gives up after waiting so long.
inline constexpr double kPatience_s = 600;

class MpiWorker final : public Worker {
 public:
  /// Collective, as is `finish`. The job has as many workers as `world` has ranks.
  MpiWorker(const Job& job, MPI_Comm world, double patience_s = kPatience_s);

  int rank() const override { return rank_; }
  int size() const override { return job_.workers(); }
  double now() const override { return clock_.now(); }
  std::uint64_t step() const override { return step_; }
  bool next_step() override;
  const Workload& workload() const override { return job_.workload; }
  std::uint64_t seed() const override { return job_.seed; }
  GroupId group(const std::vector<int>& ranks) override { return communicators_.group(ranks); }
  Executor& executor() override { return executor_; }

  std::size_t model_size() const override { return job_.learner ? job_.learner->parameters() : 0; }
  Values model() const override { return state_.parameters; }
  void set_model(Values model) override;
  void apply(const Values& gradient) override;

  Values compute_gradient(const ComputeOptions& options) override;
  void spend(Activity activity, double seconds) override;

  Handle start_send(int to, int tag, Message message) override;
  Handle start_receive(int from, int tag) override;
  Handle start(Collective collective) override;
  /// By the scenario's cluster, not by this one: the same on all ranks.
  double predict(const Collective& collective) override;

  void wait(const Handle& handle) override;
  std::size_t wait_any(std::span<const Handle> handles) override;
  bool done(const Handle& handle) override;
  Values result(const Handle& handle) override;
  std::vector<Values> gathered(const Handle& handle) override;
  Message message(const Handle& handle) override;

  void note_staleness(double steps) override { ledger_.staleness(steps); }
  const LogicalGraph& graph() const override { return job_.graph; }

  /// After the algorithm has ended on this rank: waits for all, and brings all records to rank 0. Elsewhere
  /// the record is empty.
  RunRecord finish();

 private:
  using Condition = std::function<bool()>;

  void book(Activity activity);
  void end_step();
  Values learn(const ComputeOptions& options, double straggle);
  void sleep_through(const ComputeOptions& options, const StepCost& cost);
  void sleep_to(double& end_s, double nominal_s, const StepCost& cost);
  void call_back(double& end_s, const std::function<void()>& call);
  void sleep_until(double time_s);

  void progress();
  bool idle() const { return collectives_.idle() && mailroom_.idle(); }
  void poll(const Condition& complete, const Condition& under_way, const std::function<std::string()>& what);
  /// All ranks stop the clock and do `action`; then each goes on as much later as all others do.
  void meet(const std::function<void()>& action);
  void meet_there();
  static MpiPending& pending_of(const Handle& handle);

  const Job& job_;
  double patience_s_;
  MPI_Comm world_ = MPI_COMM_NULL;  // of meetings
  int rank_ = 0;
  Executor executor_{1};
  RunClock clock_;
  Ledger ledger_;
  StepTimes step_times_;
  Communicators communicators_;
  MpiCollectives collectives_;
  MpiMailroom mailroom_;
  CurveCollector curve_;
  ReplicaState state_;
  Values model_of_step_;  // as it was at the end of the last step
  std::uint64_t step_ = 0;
  std::uint32_t mini_batches_ = 0;  // begun in this step
  double booked_s_ = 0;             // everything before is booked
  bool over_ = false;
};

}  // namespace simsgd

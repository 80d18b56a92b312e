// A run whose ranks all do the same in every step (sim/roles/lockstep.hpp), without fibers or roles: what one
// does is taken down once (step_trace.hpp); a rank is its clock and its place in that, and each collective
// one pass over the times of all. What observers are told, and in which order, is what fibers would tell
// (tests/engine/lockstep.cpp): a rank goes on until it waits for what somebody has not started; whoever
// starts an operation last goes on, and then, in the order of ranks, those who waited for it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/sim_worker.hpp"
#include "sim/engine/step_trace.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

class LockstepRun {
 public:
  /// Null where the world's job cannot be run so: something is learned, somebody waits for an event, or
  /// steps are not alike. The world's observers hear of the first `heard` ranks. Of the others only ledgers
  /// are told: of an operation when its rank waits for it or for a later one.
  static std::unique_ptr<LockstepRun> make(World& world, LedgerBook& ledgers, const SimWorker::Steps& steps,
                                           std::size_t heard);
  void run();
  /// What crashes cost all ranks; nothing where nothing fails.
  std::vector<Crashes::Totals> crash_totals(double over_s) const;

 private:
  struct Rank {
    std::uint64_t step = 0;     // that it is in, from 1
    std::size_t next = 0;       // of the step's actions
    std::uint64_t started = 0;  // operations
    std::uint64_t told = 0;     // operations that its ledger knows of
    std::uint64_t awaits = 0;   // number of the operation that it waits for, plus 1; 0: none
    double begin_s = 0;         // of the step
    StepCost cost;              // of the gradient
    double stop_s = 0, done_s = 0, beside_s = 0;  // of the last backward pass: nominal, and what goes on
    bool over = false;
  };
  // Started by somebody, and waited for by somebody, perhaps.
  struct Operation {
    std::size_t what = 0;  // in the trace
    std::size_t posted = 0;
    bool known = false;  // all have started it
    CollectiveEngine::Whole whole;
  };

  LockstepRun(World& world, LedgerBook& ledgers, const SimWorker::Steps& steps, std::size_t heard,
              StepTrace trace);
  bool hears(std::size_t rank) const { return rank < heard_; }
  const Observers& observers_of(std::size_t rank) const {
    return hears(rank) ? world_.observers : only_ledgers_;
  }
  void go_on(std::size_t rank);
  bool next_step(std::size_t rank);
  void end_step(std::size_t rank);
  const StepTrace::Actions& actions_of(const Rank& state) const;
  bool act(std::size_t rank, const StepTrace::Action& action);
  void draw(std::size_t rank, const StepTrace::Action& action);
  void begin_gradient(std::size_t rank);
  void begin_backward(std::size_t rank);
  void compute_until(std::size_t rank, double until_s);
  void spend(std::size_t rank, Activity activity, double seconds, const char* label);
  void start(std::size_t rank, std::size_t what);
  void all_started(Operation& operation, std::uint64_t number);
  void forget_operations();
  bool wait(std::size_t rank, std::size_t ago);
  void tell_ledger(std::size_t rank, std::uint64_t until);
  Operation& operation(std::uint64_t number) {
    return *operations_[static_cast<std::size_t>(number - first_)];
  }

  World& world_;
  LedgerBook& ledgers_;
  const SimWorker::Steps& steps_;
  std::size_t heard_;
  Observers only_ledgers_;
  StepTrace trace_;
  // Of each of the trace's operations: its channel in ledgers, and how long it takes, while devices compute.
  std::vector<std::int32_t> channels_;
  std::vector<double> predicted_s_;
  double step_s_ = 0;                            // nominal
  std::vector<std::optional<SimClock>> clocks_;  // by rank; they do not move
  std::vector<Rank> ranks_;
  std::vector<Crashes> crashes_;              // by rank; empty: nothing fails
  std::vector<std::vector<double>> marks_s_;  // by rank that is heard, and by number
  std::vector<std::size_t> ready_, turn_;     // who goes on next, and who goes on in this turn
  std::uint64_t first_ = 0;                   // number of operations_.front(); as they are started
  std::deque<std::unique_ptr<Operation>> operations_;
  std::vector<std::unique_ptr<Operation>> unused_;
  Handle<Nothing> awaited_ = Handle<Nothing>::make();  // as the rank that waits sees it
};

}  // namespace simsgd

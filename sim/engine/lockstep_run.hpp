// A run whose ranks all do the same in every step (sim/roles/lockstep.hpp), without fibers or roles: a rank
// is its clock, the ranks of a step compute one after another, and each all-reduce is one pass over their
// times. What observers are told, and in which order, is what fibers would tell (tests/engine/lockstep.cpp):
// a step ends first at the rank that came last in it, which has nothing to wait for, and then in the order of
// ranks.
#pragma once

#include <optional>
#include <vector>

#include "sim/engine/sim_worker.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/roles/lockstep.hpp"

namespace simsgd {

class LockstepRun {
 public:
  /// Whether the world's job can be run so: nothing is learned, nobody waits for an event.
  static bool can(World& world, const RunEnd& end);
  /// The world's observers hear of the first `heard` ranks. Of the others only ledgers are told: of each
  /// all-reduce when its rank waits for it.
  LockstepRun(World& world, LedgerBook& ledgers, const SimWorker::Steps& steps, std::size_t heard);
  void run();
  /// What crashes cost all ranks; nothing where nothing fails.
  std::vector<Crashes::Totals> crash_totals(double over_s) const;

 private:
  bool hears(std::size_t rank) const { return rank < heard_; }
  const Observers& observers_of(std::size_t rank) const {
    return hears(rank) ? world_.observers : only_ledgers_;
  }
  void end_step(std::size_t rank);
  void compute_step(std::size_t rank);
  void backward(std::size_t rank, const StepCost& cost);
  void spend(std::size_t rank, Activity activity, double seconds, const char* label);
  void live_through(std::size_t rank, const StepCost& cost);
  void post(std::size_t part, std::size_t rank);
  void tell_late(std::size_t rank);
  void order_next_step();

  World& world_;
  LedgerBook& ledgers_;
  const SimWorker::Steps& steps_;
  std::size_t heard_;
  Observers only_ledgers_;
  const Lockstep& what_;
  std::vector<AnyCollective> sums_;
  std::vector<CollectiveEngine::Whole> wholes_;  // of each sum, in this step
  std::vector<double> predicted_s_;              // of each sum, while the device computes
  std::int32_t channel_ = 0;                     // of the ledgers
  double step_s_ = 0, update_s_ = 0;             // nominal
  std::vector<std::optional<SimClock>> clocks_;  // by rank; they do not move
  std::vector<double> step_begin_s_;             // by rank
  std::vector<Crashes> crashes_;                 // by rank; empty: nothing fails
  std::vector<std::size_t> order_;               // of ranks, in this step
  std::uint64_t step_ = 0;
  Handle<Nothing> last_sum_ = Handle<Nothing>::make();  // as the rank that waits for it sees it
};

}  // namespace simsgd

// A run whose ranks all do the same in every step (sim/roles/lockstep.hpp), without fibers: the ranks of a
// step compute one after another, and each all-reduce is one pass over their times. What observers are told,
// and in which order, is what fibers would tell (tests/engine/lockstep.cpp): a step ends first at the rank
// that came last in it, which has nothing to wait for, and then in the order of ranks.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/sim_worker.hpp"
#include "sim/roles/lockstep.hpp"

namespace simsgd {

class LockstepRun {
 public:
  /// Whether the world's job can be run so: nothing is learned, nobody waits for an event.
  static bool can(World& world, const RunEnd& end);
  LockstepRun(World& world, const std::vector<std::unique_ptr<SimWorker>>& workers);
  void run();

 private:
  void run_step();
  void post(std::size_t part);
  void order_next_step();

  World& world_;
  const std::vector<std::unique_ptr<SimWorker>>& workers_;
  std::vector<AnyCollective> sums_;
  std::vector<double> predicted_s_;            // of each sum, while the device computes
  std::int32_t channel_ = 0;                   // of the ledger
  std::vector<std::vector<double>> posted_s_;  // of each sum, by rank
  std::vector<double> ends_s_;                 // of the last sum, by rank
  std::vector<std::size_t> order_;             // of ranks, in this step
  SimWorker* computing_ = nullptr;
  std::size_t parts_posted_ = 0;  // by that
  GradientOptions options_;
  Handle<Nothing> last_sum_ = Handle<Nothing>::make();  // as the rank that waits for it sees it
};

}  // namespace simsgd

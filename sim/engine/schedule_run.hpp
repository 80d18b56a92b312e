// One collective run event by event: fidelities `messages` (every message of the schedule)
// and `flows` (the repetitions of a stage aggregated: one flow per edge, started when all ranks of the cycle
// are there). Ranks that come together and stay so, while nothing else happens, take one step per stage.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/collectives/plan.hpp"
#include "sim/engine/transport.hpp"

namespace simsgd {

class ScheduleRun {
 public:
  /// `ended(rank, end_s, last_arrival_s)` is called when a rank is through, host time included; the latest
  /// arrival is of those that its end depends on. Ranks are places in the group.
  struct Setup {
    const Plan* plan = nullptr;
    Transport* transport = nullptr;
    const std::vector<int>* ranks = nullptr;  ///< members of the group
    JitterDraws jitter;                       ///< table null: none
    bool aggregate = false;                   ///< `flows`
    std::function<void(std::int32_t, double, double)> ended;
  };
  explicit ScheduleRun(Setup setup);

  /// The rank arrives at `came_s`.
  void arrives_at(std::int32_t rank, double came_s);
  /// All do.
  void all_arrive_at(double came_s);

 private:
  // Stages that run as one: consecutive stages with the same partners, when aggregated; else one repetition
  // of one.
  struct Phase {
    std::size_t stage = 0;
    bool aggregated = false;
    double bytes = 0;        // per edge
    double repeats = 1;      // latencies and reductions paid
    double reduce_s = 0;     // in all
    std::uint32_t step = 0;  // for the jitter
  };
  struct State {
    std::int32_t phase = -1;  // -1: not arrived
    int open = 0;             // messages of the phase that have not ended
    bool posted = false;      // ready for the messages of its phase
    double came_s = 0;
    double last_arrival_s = 0;       // that its entering this phase depends on
    double next_last_arrival_s = 0;  // that its leaving it will
    double end_s = 0;                // host time included
  };
  void make_phases();
  void arrive(std::int32_t rank);
  void post(std::int32_t rank);
  void finish(std::int32_t rank);
  void leave(std::int32_t rank);
  void start_message(const Phase& phase, std::int32_t sender, std::int32_t receiver);
  void begin(std::int32_t rank);
  bool pass_at_once();
  void enter(std::int32_t rank);
  void try_start(std::int32_t sender, std::int32_t receiver);
  void start_cycle_if_complete(std::int32_t rank);
  void depends(std::int32_t rank, double last_arrival_s);
  void message_ended(std::int32_t rank);
  void leave_phase(std::int32_t rank);
  const Phase& phase_of(std::int32_t rank) const;
  double flowing_bytes(const Phase& phase, std::size_t sender) const;

  Setup setup_;
  std::vector<Phase> phases_;
  std::vector<State> states_;
  std::int32_t came_ = 0, ready_ = 0;  // ranks whose arrival is known; that wait to begin with all others
  double first_came_s_ = 0;
  bool same_ = true;                                      // all that came did at one instant
  bool began_ = false;                                    // one rank has begun before the others were known
  std::vector<std::vector<std::int32_t>> cycle_of_;       // per stage: cycle of each rank
  std::vector<std::vector<std::int32_t>> cycle_waiting_;  // per phase: ranks missing in each cycle
  std::vector<std::vector<std::int32_t>> cycle_open_;     // per phase: flows not ended in each cycle
};

}  // namespace simsgd

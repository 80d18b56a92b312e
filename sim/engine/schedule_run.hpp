// One collective run event by event: fidelities `messages` (every message of the schedule)
// and `flows` (the repetitions of a stage aggregated: one flow per edge, started when all ranks of the cycle
// are there). Ranks that come together and stay so, while nothing else happens, take one step per stage.
// Runs of several groups that send the same over the same links are one for as long as their ranks arrive at
// the same instants: the first of them runs, and each of its messages stands for one of each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/collectives/plan.hpp"
#include "sim/engine/transport.hpp"

namespace simsgd {

/// What decides how a plan's messages pass among these ranks: those of two plans that have the same one, and
/// whose ranks arrive at the same instants, go together.
std::vector<double> footprint(const Plan& plan, const Cluster& cluster, const std::vector<int>& ranks);

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
  ScheduleRun(const ScheduleRun&) = delete;
  ScheduleRun& operator=(const ScheduleRun&) = delete;

  /// Goes with another one of the same footprint, unless that has begun. False: it has.
  bool join(ScheduleRun& first);

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
    std::int32_t phase = -1;         // -1: not arrived
    int open = 0;                    // messages of the phase that have not ended
    bool posted = false;             // ready for the messages of its phase
    double last_arrival_s = 0;       // that its entering this phase depends on
    double next_last_arrival_s = 0;  // that its leaving it will
    double end_s = 0;                // host time included
  };
  // Those that are one.
  using Crew = std::vector<ScheduleRun*>;
  bool leads() const { return crew_->front() == this; }
  // Has all those do something who were one when this was called, each through its first.
  template <class Do>
  static void each_of(const Crew& crew, const Do& what) {
    for (ScheduleRun* run : crew)
      if (run->leads()) what(*run);
  }
  template <auto What>
  void later(double at_s, std::int32_t rank) {
    setup_.transport->have_passed(crew_->size() - 1, {});
    setup_.transport->at(at_s, [crew = crew_.get(), rank] {
      each_of(*crew, [rank](ScheduleRun& run) { (run.*What)(rank); });
    });
  }
  ScheduleRun& arriving(std::int32_t rank);
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
  void flow_ended(std::size_t phase, std::size_t cycle);
  const Phase& phase_of(std::int32_t rank) const;
  double flowing_bytes(const Phase& phase, std::size_t sender) const;

  Setup setup_;
  std::vector<Phase> phases_;
  std::shared_ptr<const Crew> crew_;                   // of whom the first one's states count
  std::vector<std::shared_ptr<const Crew>> formerly_;  // messages under way know them
  std::vector<double> came_s_;                         // its own ranks; infinity: not yet
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

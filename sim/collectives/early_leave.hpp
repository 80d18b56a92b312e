// Schedules that some ranks leave early (broadcast, reduce, exchanges between neighbours), evaluated as ranks
// arrive: a rank's end is known as soon as all that it depends on has arrived, which may be long before the
// last rank arrives.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/plan.hpp"

namespace simsgd {

class EarlyLeave {
 public:
  struct End {
    std::int32_t rank = 0;      ///< place in the group
    double end_s = 0;           ///< host time included
    double last_arrival_s = 0;  ///< the latest arrival that it depends on
  };

  /// `closed`: ends by the closed form for a common arrival at the last arrival; else by the recurrence.
  EarlyLeave(const Plan& plan, const JitterDraws* jitter, bool closed);

  /// `rank` arrives at `time_s`; appends the ranks whose ends are known now.
  void arrive(std::int32_t rank, double time_s, std::vector<End>& ends);

 private:
  struct State {
    bool arrived = false;
    std::int32_t stage = 0;     // that it is in, or will enter
    int open = 0;               // messages of its stage that are not known yet; 0: not in a stage. In a
                                // concurrent schedule: arrivals that its end waits for, its own included
    double time_s = 0;          // when it entered its stage
    double end_s = 0;           // of the stage's messages known so far
    double last_arrival_s = 0;  // that time_s depends on
    double next_last_arrival_s = 0;
  };
  void arrive_concurrently(std::int32_t rank, std::vector<End>& ends);
  void end_if_complete(std::int32_t rank, std::vector<End>& ends);
  void enter(std::int32_t rank, std::vector<End>& ends);
  void try_message(std::int32_t sender, std::int32_t receiver);
  void leave_stage(std::int32_t rank);

  const Plan& plan_;
  const JitterDraws* jitter_;
  bool closed_;
  std::vector<State> states_;
  std::vector<std::int32_t> active_;  // ranks that are about to enter their stage
};

}  // namespace simsgd

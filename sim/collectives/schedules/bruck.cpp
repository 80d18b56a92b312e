// Bruck's all-gather and the dissemination barrier: in step k rank r sends what it holds to r - 2^k (mod P),
// any P.
//   all-gather  ceil(log2 P) alpha + (P-1)/P m beta        barrier  ceil(log2 P) alpha
// Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
// IEEE TPDS 8(11), 1997; Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 17(1),
// 1988. For P a power of two the times are those of an all-gather by recursive doubling.
#include <algorithm>

#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

std::vector<std::int32_t> shifted(int ranks, int distance) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) to[static_cast<std::size_t>(i)] = (i - distance % ranks + ranks) % ranks;
  return to;
}

Schedule make_all_gather(const ScheduleRequest& request) {
  Schedule schedule{"bruck", request.ranks, {}, true, false};
  schedule.ends_together = power_of_two_below(request.ranks) == request.ranks;
  schedule.blocks = request.ranks;
  const double block = request.bytes / request.ranks;
  for (int held = 1; held < request.ranks; held *= 2) {
    const int sent = std::min(held, request.ranks - held);
    // Rank r holds blocks r, r + 1, ... and sends the first of them, as many as the receiver lacks.
    schedule.stages.push_back(make_stage(shifted(request.ranks, held), block * sent, 0, 1,
                                         {false, [sent](std::int32_t rank, std::int32_t) {
                                            return BlockRange{rank, sent};
                                          }}));
  }
  return schedule;
}

Schedule make_barrier(const ScheduleRequest& request) {
  Schedule schedule{"dissemination", request.ranks, {}, true, false};
  for (int distance = 1; distance < request.ranks; distance *= 2)
    schedule.stages.push_back(make_stage(shifted(request.ranks, distance), 0, 0));
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> bruck() {
  return {{{"bruck", "blocks double in each step; any P",
            "Bruck et al., IEEE TPDS 8(11), 1997, doi:10.1109/71.642949"},
           CollectiveOp::all_gather,
           "ceil(log2 P) alpha + (P-1)/P m beta",
           make_all_gather},
          {{"dissemination", "empty messages at doubling distance; any P",
            "Hensgen, Finkel, Manber, IJPP 17(1), 1988"},
           CollectiveOp::barrier,
           "ceil(log2 P) alpha",
           make_barrier}};
}

}  // namespace simsgd::schedules

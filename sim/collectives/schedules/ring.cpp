// Ring schedules: every rank sends to its right neighbour in each of P - 1 steps (twice that for an
// all-reduce). Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 69(2), 2009.
//   all-reduce       2 (P-1) (alpha + m/P beta)
//   reduce-scatter     (P-1) (alpha + m/P beta)
//   all-gather         (P-1) (alpha + m/P beta)
// for P equal, dedicated links and m bytes in all; test: tests/collectives/closed_forms.
#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

std::vector<std::int32_t> right_neighbours(int ranks) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) to[static_cast<std::size_t>(i)] = (i + 1) % ranks;
  return to;
}

// In step s rank r adds up block r - 1 - s, and is left with block r; then it passes on block r - s.
Carried travelling(int ranks, bool adds) {
  return {adds, [ranks, shift = adds ? 1 : 0](std::int32_t rank, std::int32_t time) {
            return BlockRange{(rank - shift - time + 2 * ranks) % ranks, 1};
          }};
}

Schedule make_ring(const ScheduleRequest& request, bool reduce, bool gather) {
  Schedule schedule{"ring", request.ranks, {}, true, true};
  if (request.ranks == 1) return schedule;
  schedule.blocks = request.ranks;
  const double block = request.bytes / request.ranks;
  const int steps = request.ranks - 1;
  if (reduce)
    schedule.stages.push_back(
        make_stage(right_neighbours(request.ranks), block, block, steps, travelling(request.ranks, true)));
  if (gather)
    schedule.stages.push_back(
        make_stage(right_neighbours(request.ranks), block, 0, steps, travelling(request.ranks, false)));
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> ring() {
  return {{{"ring", "reduce-scatter and all-gather around a ring; least bytes, most steps",
            "Patarasuk and Yuan, JPDC 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002"},
           CollectiveOp::all_reduce,
           "2 (P-1) (alpha + m/P beta)",
           [](const ScheduleRequest& request) { return make_ring(request, true, true); }},
          {{"ring", "partial sums travel around a ring", "Patarasuk and Yuan, JPDC 69(2), 2009"},
           CollectiveOp::reduce_scatter,
           "(P-1) (alpha + m/P beta)",
           [](const ScheduleRequest& request) { return make_ring(request, true, false); }},
          {{"ring", "blocks travel around a ring", "Patarasuk and Yuan, JPDC 69(2), 2009"},
           CollectiveOp::all_gather,
           "(P-1) (alpha + m/P beta)",
           [](const ScheduleRequest& request) { return make_ring(request, false, true); }}};
}

}  // namespace simsgd::schedules

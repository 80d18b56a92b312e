// Pairwise exchange: in step s of P - 1 every rank sends its part for rank + s, and receives its own from
// rank - s. Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 19(1), 2005, section 4.4, doi 10.1177/1094342005051521.
//   all-to-all   (P-1) (alpha + m/P beta)
// for P equal, dedicated links and m bytes that each rank contributes; test: tests/collectives/closed_forms.
#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

std::vector<SchedulePlugin> pairwise() {
  return {{{"pairwise", "every rank exchanges a part with every other, at growing distance",
            "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521"},
           CollectiveOp::all_to_all,
           "(P-1) (alpha + m/P beta)",
           [](const ScheduleRequest& request) {
             Schedule schedule;
             schedule.name = "pairwise";
             schedule.ranks = request.ranks;
             schedule.blocks = request.ranks * request.ranks;
             for (int distance = 1; distance < request.ranks; ++distance) {
               std::vector<std::int32_t> to;
               for (int rank = 0; rank < request.ranks; ++rank)
                 to.push_back((rank + distance) % request.ranks);
               schedule.stages.push_back(
                   make_stage(std::move(to), request.bytes / request.ranks, 0, 1,
                              {false, [ranks = request.ranks, distance](std::int32_t rank, std::int32_t) {
                                 return BlockRange{ranks * rank + (rank + distance) % ranks, 1};
                               }}));
             }
             return schedule;
           }}};
}

}  // namespace simsgd::schedules

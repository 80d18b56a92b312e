// Broadcast of long vectors: the root scatters the P parts of the vector down a binomial tree, then all
// gather them around a ring.
//   (ceil(log2 P) + P - 1) alpha + 2 (P-1)/P m beta   for P a power of two and equal, dedicated links
// Barnett et al., "Interprocessor collective communication library", SHPCC 1994; Thakur, Rabenseifner, Gropp,
// IJHPCA 19(1), 2005 (MPI's broadcast of long messages). Test: tests/collectives/closed_forms.
#include <algorithm>

#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

// Of the rank v places after the root, the parts of its child's subtree, and later its own and those that it
// got.
Carried subtree(const ScheduleRequest& request, int distance) {
  return {false, [ranks = request.ranks, root = request.root, distance](std::int32_t rank, std::int32_t) {
            const int child = (rank - root + ranks) % ranks + distance;
            return BlockRange{child, std::min(distance, ranks - child)};
          }};
}
Carried travelling_parts(const ScheduleRequest& request) {
  return {false, [ranks = request.ranks, root = request.root](std::int32_t rank, std::int32_t time) {
            return BlockRange{(rank - root - time + 2 * ranks) % ranks, 1};
          }};
}

// One level of the tree: relative ranks that are multiples of 2 * distance send `blocks` parts to the child
// at `distance`, where that is as many as the child's subtree has.
Stage make_level(const ScheduleRequest& request, int distance, int blocks) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(request.ranks), -1);
  const auto rank_of = [&request](int relative) { return (relative + request.root) % request.ranks; };
  for (int parent = 0; parent + distance < request.ranks; parent += 2 * distance)
    if (std::min(distance, request.ranks - parent - distance) == blocks)
      to[static_cast<std::size_t>(rank_of(parent))] = rank_of(parent + distance);
  return make_stage(std::move(to), request.bytes * blocks / request.ranks, 0, 1, subtree(request, distance));
}

Schedule make_scatter_all_gather(const ScheduleRequest& request) {
  Schedule schedule{"scatter_all_gather", request.ranks, {}, true, false};
  if (request.ranks == 1) return schedule;
  schedule.blocks = request.ranks;
  for (int level = ceil_log2(request.ranks) - 1; level >= 0; --level) {
    const int distance = 1 << level;
    const int last_parent = (request.ranks - distance - 1) / (2 * distance) * (2 * distance);
    const int last = std::min(distance, request.ranks - last_parent - distance);  // the last child's subtree
    if (last == distance || last_parent > 0)
      schedule.stages.push_back(make_level(request, distance, distance));
    if (last < distance) schedule.stages.push_back(make_level(request, distance, last));
  }
  std::vector<std::int32_t> right(static_cast<std::size_t>(request.ranks));
  for (int rank = 0; rank < request.ranks; ++rank)
    right[static_cast<std::size_t>(rank)] = (rank + 1) % request.ranks;
  schedule.stages.push_back(make_stage(std::move(right), request.bytes / request.ranks, 0, request.ranks - 1,
                                       travelling_parts(request)));
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> scatter_all_gather() {
  return {{{"scatter_all_gather", "parts down a binomial tree, then around a ring; for long vectors",
            "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005"},
           CollectiveOp::broadcast,
           "(ceil(log2 P) + P-1) alpha + 2 (P-1)/P m beta",
           make_scatter_all_gather}};
}

}  // namespace simsgd::schedules

// Binomial trees. The root of a broadcast serves its farthest child first; a reduction is the same tree
// backwards.
//   broadcast, reduce  ceil(log2 P) (alpha + m beta)      all-reduce (reduce to rank 0, then broadcast) twice
//   that
// Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
// Ranks leave early: the root of a broadcast after its last child, a leaf of a reduction after its one
// message.

#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

// One level of the tree: relative ranks that are multiples of 2 * distance and their child at `distance`.
Stage make_level(const ScheduleRequest& request, int distance, bool towards_root) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(request.ranks), -1);
  const auto rank_of = [&request](int relative) { return (relative + request.root) % request.ranks; };
  for (int parent = 0; parent + distance < request.ranks; parent += 2 * distance) {
    const int child = rank_of(parent + distance);
    if (towards_root)
      to[static_cast<std::size_t>(child)] = rank_of(parent);
    else
      to[static_cast<std::size_t>(rank_of(parent))] = child;
  }
  return make_stage(std::move(to), request.bytes, towards_root ? request.bytes : 0, 1, all_of(towards_root));
}

void add_reduce(Schedule& schedule, const ScheduleRequest& request) {
  for (int distance = 1; distance < request.ranks; distance *= 2)
    schedule.stages.push_back(make_level(request, distance, true));
}

void add_broadcast(Schedule& schedule, const ScheduleRequest& request) {
  for (int level = ceil_log2(request.ranks) - 1; level >= 0; --level)
    schedule.stages.push_back(make_level(request, 1 << level, false));
}

Schedule make_all_reduce(const ScheduleRequest& request) {
  Schedule schedule{"tree", request.ranks, {}, true, false};
  ScheduleRequest rooted = request;
  rooted.root = 0;
  add_reduce(schedule, rooted);
  add_broadcast(schedule, rooted);
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> tree() {
  return {{{"tree", "binomial reduction to rank 0, then binomial broadcast",
            "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005"},
           CollectiveOp::all_reduce,
           "2 ceil(log2 P) (alpha + m beta)",
           make_all_reduce},
          {{"tree", "binomial tree from the root", "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005"},
           CollectiveOp::broadcast,
           "ceil(log2 P) (alpha + m beta)",
           [](const ScheduleRequest& request) {
             Schedule schedule{"tree", request.ranks, {}, false, false};
             add_broadcast(schedule, request);
             return schedule;
           }},
          {{"tree", "binomial tree to the root", "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005"},
           CollectiveOp::reduce,
           "ceil(log2 P) (alpha + m beta)",
           [](const ScheduleRequest& request) {
             Schedule schedule{"tree", request.ranks, {}, false, false};
             add_reduce(schedule, request);
             return schedule;
           }}};
}

}  // namespace simsgd::schedules

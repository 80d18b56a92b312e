// Reduction in the switch (NVLink SHARP): each of the g GPUs of a node pulls the sum of its part of the
// vector from the switch, which reads the part of all of them, and sends it back, which the switch gives to
// all. So a GPU's link carries the vector and one part, each way. Among N nodes each GPU's part goes up and
// down a double binary tree through its own NIC, while the next pieces are reduced (NCCL's NVLSTree).
//   one node   alpha + (1 + 1/g) m beta
//   N nodes    alpha1 + 2 ceil(log2 N) alpha2 + max((1 + 1/g) m beta1, 2 m/g beta2)
//   2 nodes    the same with m/g beta2, since each tree has one edge
// NCCL 2.29.7, src/device/all_reduce.h (NVLS and NVLS_TREE); Klenk et al., "An in-network architecture for
// accelerating shared-memory multiprocessor collectives", ISCA 2020, doi:10.1109/ISCA45697.2020.00085.
// That both go on at once needs to know which is slower (ScheduleRequest::between_over_inside); else one
// follows the other.
//
// A switch is not a rank: as stages a GPU's messages go to the next one of its node, through the same two
// links. They begin when all have arrived, since the switch waits for the last. Real runs, whose network does
// not add, send the messages of a hierarchical all-reduce.
#include <algorithm>

#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

/// From each rank to the one `distance` on, inside blocks of `size` ranks.
std::vector<std::int32_t> around(int ranks, int size, int distance) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i)
    to[static_cast<std::size_t>(i)] = i / size * size + (i % size + distance) % size;
  return to;
}

/// Every rank of every second node of this level to its fellow of the node below, or back.
std::vector<std::int32_t> level(int ranks, int per_node, int distance, bool up) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (int node = distance; node * per_node < ranks; node += 2 * distance)
    for (int local = 0; local < per_node; ++local) {
      const int child = node * per_node + local, parent = child - distance * per_node;
      to[static_cast<std::size_t>(up ? child : parent)] = up ? parent : child;
    }
  return to;
}

Schedule make_nvls(const ScheduleRequest& request) {
  const int ranks = request.ranks, per_node = request.ranks_per_node;
  if (per_node <= 0 || ranks % per_node != 0)
    reject("all_reduce", "the schedule \"nvls\" needs the same number of ranks on every node",
           "Use \"ring\", or a number of workers that fills every node equally");
  const int nodes = ranks / per_node;
  Schedule schedule{"nvls", ranks, {}, true, false};
  if (ranks == 1) return schedule;
  schedule.together = true;
  schedule.one_by_one = [request] {
    return find_schedule(CollectiveOp::all_reduce, "hierarchical")->make(request);
  };
  const double part = request.bytes / per_node, between = nodes == 1 ? 0 : (nodes == 2 ? 1 : 2) * part;
  if (nodes > 1) {
    schedule.stages.push_back(make_stage(around(ranks, ranks, per_node), between, part));
    schedule.stages.back().pays_latency = false;
  }
  // What is not over inside when the NICs are through.
  const double inside = std::max(0.0, request.bytes + part - between * request.between_over_inside);
  if (per_node > 1) {
    schedule.stages.push_back(make_stage(around(ranks, per_node, 1), inside, 0));
    schedule.stages.back().beside_bytes = request.bytes + part - inside;
  }
  for (const double tree_bytes : sent_in_two_trees(nodes, 1, part))
    schedule.sent_bytes.insert(schedule.sent_bytes.end(), static_cast<std::size_t>(per_node),
                               tree_bytes + (per_node > 1 ? request.bytes + part : 0));
  int top = 1;
  for (; top < nodes; top *= 2)
    schedule.stages.push_back(make_stage(level(ranks, per_node, top, true), 0, 0));
  for (top /= 2; top >= 1; top /= 2)
    schedule.stages.push_back(make_stage(level(ranks, per_node, top, false), 0, 0));
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> nvls() {
  return {{{"nvls", "the switches of the nodes add; between them a tree for each GPU of a node",
            "Klenk et al., ISCA 2020, doi:10.1109/ISCA45697.2020.00085"},
           CollectiveOp::all_reduce,
           "alpha1 + 2 ceil(log2 N) alpha2 + max((1 + 1/g) m beta1, 2 m/g beta2), N > 2",
           make_nvls}};
}

}  // namespace simsgd::schedules

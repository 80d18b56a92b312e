// Double binary tree: two binary trees over the nodes, each for half of the vector, so that every node is a
// leaf of one of them and sends and receives at most twice the vector in all; inside a node a chain leads to
// the tree. The vector goes up and down in pieces so small that all edges work at once. N nodes of g ranks:
//   2 (g-1) alpha1 + 2 ceil(log2 N) alpha2 + 2 m max(beta1, beta2)
// One node: 2 m beta1. Two: m (beta1 + max(beta1, beta2)), since each tree has one edge; m beta2 where g = 1.
// Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35(12), 2009; as NCCL 2.4 and later.
// As stages: they begin when all have arrived, since a rank that is missing stops the pipeline. One stage
// moves what the busiest links carry behind the first piece, which pays the latencies; then the first piece
// travels up the longest way and down again (inside a node as if it had no bytes: lines pass on as they
// come), so that everybody waits for every link. A rank leaves when the way down has passed it: at most
// (g-2) alpha1 before the last one, and ceil(log2 N) - 1 levels where N is not a power of two. Real runs and
// micro-benchmarks send the messages of double_binary_tree_pieces.cpp.
#include <algorithm>

#include "sim/base/reject.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/collectives/schedules/double_binary_tree_pieces.hpp"

namespace simsgd::schedules {

namespace {

/// The rank at that place of each node to the one before it.
std::vector<std::int32_t> chain(int ranks, int per_node, int place) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (int i = place; i < ranks; i += per_node) to[static_cast<std::size_t>(i)] = i - 1;
  return to;
}

/// The first rank of every second node of this level to the node below it.
std::vector<std::int32_t> level(int ranks, int per_node, int distance) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (int node = distance; node * per_node < ranks; node += 2 * distance)
    to[static_cast<std::size_t>(node) * static_cast<std::size_t>(per_node)] = (node - distance) * per_node;
  return to;
}

/// Around all nodes, or around each.
std::vector<std::int32_t> around(int ranks, int size) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) to[static_cast<std::size_t>(i)] = i / size * size + (i % size + 1) % size;
  return to;
}

Schedule make_double_tree(const ScheduleRequest& request) {
  const int per_node = request.ranks_per_node;
  if (per_node <= 0 || request.ranks % per_node != 0)
    reject("all_reduce", "the schedule \"double_binary_tree\" needs the same number of ranks on every node",
           "Use \"ring\", or a number of workers that fills every node equally");
  const int nodes = request.ranks / per_node;
  Schedule schedule{"double_binary_tree", request.ranks, {}, true, false};
  if (request.ranks == 1) return schedule;
  schedule.together = true;
  schedule.one_by_one = [request] { return double_tree_in_pieces(request); };
  std::vector<Stage>& stages = schedule.stages;
  const auto flow = [&](int size, double bytes, double reduce_bytes) {
    stages.push_back(make_stage(around(request.ranks, size), bytes, reduce_bytes));
    stages.back().pays_latency = false;
  };
  const double piece = nodes > 1 ? std::min(request.piece_bytes, request.bytes) : 0;
  const double rest = request.bytes - piece;
  if (nodes == 2) {
    // Each tree has one edge: m in all between the nodes, each way, while a node's chain carries 2 m.
    flow(request.ranks, rest, rest);
    if (per_node > 1) flow(per_node, rest, 0);
  } else {
    flow(request.ranks, 2 * rest, rest);
  }
  const std::size_t first_up = stages.size();
  for (int place = per_node - 1; place > 0; --place)
    stages.push_back(make_stage(chain(request.ranks, per_node, place), 0, 0));
  for (int distance = 1; distance < nodes; distance *= 2)
    stages.push_back(make_stage(level(request.ranks, per_node, distance), piece, piece));
  for (std::size_t up = stages.size(); up-- > first_up;)
    stages.push_back(make_stage(reversed(stages[up].to), stages[up].bytes, 0));
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> double_binary_tree() {
  return {{{"double_binary_tree",
            "two pipelined binary trees over nodes, chains inside them; few steps, twice the bytes",
            "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009, doi:10.1016/j.parco.2009.09.001"},
           CollectiveOp::all_reduce,
           "2 (g-1) alpha1 + 2 ceil(log2 N) alpha2 + 2 m max(beta1, beta2), N > 2",
           make_double_tree}};
}

}  // namespace simsgd::schedules

// Double binary tree: two binary trees over the nodes, each for half of the vector, so that every node is a
// leaf of one of them and sends and receives at most twice the vector in all; inside a node a chain leads to
// the tree. The vector goes up and down in pieces so small that all edges work at once:
//   2 (g-1) alpha1 + 2 ceil(log2 N) alpha2 + 2 m max(beta1, beta2)     N nodes of g ranks; N <= 2: beta2 half
// Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35(12), 2009; as NCCL 2.4 and later.
// As stages: the first piece travels along the longest way (inside a node as if it had no bytes: lines pass
// on as they come), then one stage moves what the busiest links carry of the rest. Real runs send the
// messages of double_binary_tree_pieces.cpp.
#include <algorithm>

#include "sim/base/reject.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/collectives/schedules/double_binary_tree_pieces.hpp"

namespace simsgd::schedules {

namespace {

/// Rank i sends to the one before it in its node; the first sends nothing.
std::vector<std::int32_t> chain(int ranks, int per_node) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (int i = 0; i < ranks; ++i)
    if (i % per_node != 0) to[static_cast<std::size_t>(i)] = i - 1;
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
  schedule.one_by_one = [request] { return double_tree_in_pieces(request); };
  // A rank of a chain hears of the one before it: the ranks of a node one after another.
  const std::vector<std::int32_t> up = chain(request.ranks, per_node);
  const auto steps = [&](bool towards_root) {
    if (per_node > 1)
      schedule.stages.push_back(make_stage(towards_root ? up : reversed(up), 0, 0, per_node - 1));
  };
  const double piece = std::min(request.piece_bytes, request.bytes), rest = request.bytes - piece;
  steps(true);
  for (int distance = 1; distance < nodes; distance *= 2)
    schedule.stages.push_back(make_stage(level(request.ranks, per_node, distance), piece, piece));
  for (int distance = power_of_two_below(nodes); distance >= 1; distance /= 2)
    if (distance < nodes)
      schedule.stages.push_back(make_stage(reversed(level(request.ranks, per_node, distance)), piece, 0));
  steps(false);
  if (nodes == 2) {
    // Each tree has one edge: m in all between the nodes, each way, while a node's chain carries 2 m.
    schedule.stages.push_back(make_stage(around(request.ranks, request.ranks), rest, rest));
    if (per_node > 1) schedule.stages.push_back(make_stage(around(request.ranks, per_node), rest, 0));
  } else {
    schedule.stages.push_back(make_stage(around(request.ranks, request.ranks),
                                         2 * (nodes == 1 ? request.bytes : rest),
                                         nodes == 1 ? request.bytes : rest));
  }
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> double_binary_tree() {
  return {{{"double_binary_tree",
            "two pipelined binary trees over nodes, chains inside them; few steps, twice the bytes",
            "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009, doi:10.1016/j.parco.2009.09.001"},
           CollectiveOp::all_reduce,
           "2 (g-1) alpha1 + 2 ceil(log2 N) alpha2 + 2 m max(beta1, beta2)",
           make_double_tree}};
}

}  // namespace simsgd::schedules

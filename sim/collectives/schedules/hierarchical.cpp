// Hierarchical all-reduce on N nodes of g ranks: ring reduce-scatter inside each node, then g rings between
// the nodes (local rank i of every node forms ring i and sums up block i), then ring all-gather inside each
// node.
//   2 (g-1) (alpha_1 + m/g beta_1) + 2 (N-1) (alpha_2 + m/(g N) beta_2)
// with alpha_1, beta_1 inside and alpha_2, beta_2 between nodes, where each ring has its own NIC; with fewer
// NICs the rings share them, which `flows` and `messages` see. Mikami et al., arXiv:1811.05233 (2D-torus);
// Horovod's and NCCL's hierarchical all-reduce.
#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

// Of the N blocks of each part of the vector: a ring inside nodes passes on whole parts, one between nodes
// the blocks of its own part.
Carried parts(int per_node, int nodes, bool adds) {
  return {adds, [=, shift = adds ? 1 : 0](std::int32_t rank, std::int32_t time) {
            const int part = (rank % per_node - shift - time + 2 * per_node) % per_node;
            return BlockRange{nodes * part, nodes};
          }};
}
Carried pieces(int per_node, int nodes, bool adds) {
  return {adds, [=, shift = adds ? 1 : 0](std::int32_t rank, std::int32_t time) {
            const int piece = (rank / per_node - shift - time + 2 * nodes) % nodes;
            return BlockRange{nodes * (rank % per_node) + piece, 1};
          }};
}

Schedule make_hierarchical(const ScheduleRequest& request) {
  const int per_node = request.ranks_per_node;
  if (per_node <= 0 || request.ranks % per_node != 0)
    reject("all_reduce", "the schedule \"hierarchical\" needs the same number of ranks on every node",
           "Use \"ring\", or a number of workers that fills every node equally");
  const int nodes = request.ranks / per_node;
  std::vector<std::int32_t> inside(static_cast<std::size_t>(request.ranks));
  std::vector<std::int32_t> between(inside.size());
  for (int rank = 0; rank < request.ranks; ++rank) {
    const int node = rank / per_node;
    inside[static_cast<std::size_t>(rank)] = node * per_node + (rank + 1) % per_node;
    between[static_cast<std::size_t>(rank)] = (rank + per_node) % request.ranks;
  }
  Schedule schedule{"hierarchical", request.ranks, {}, true, false};
  schedule.blocks = request.ranks;
  const double block = request.bytes / per_node;
  const double piece = block / nodes;
  if (per_node > 1)
    schedule.stages.push_back(make_stage(inside, block, block, per_node - 1, parts(per_node, nodes, true)));
  if (nodes > 1) {
    schedule.stages.push_back(make_stage(between, piece, piece, nodes - 1, pieces(per_node, nodes, true)));
    schedule.stages.push_back(make_stage(between, piece, 0, nodes - 1, pieces(per_node, nodes, false)));
  }
  if (per_node > 1)
    schedule.stages.push_back(make_stage(inside, block, 0, per_node - 1, parts(per_node, nodes, false)));
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> hierarchical() {
  return {{{"hierarchical", "rings inside nodes, then one ring between nodes for each local rank",
            "Mikami et al., arXiv:1811.05233"},
           CollectiveOp::all_reduce,
           "2 (g-1) (alpha1 + m/g beta1) + 2 (N-1) (alpha2 + m/(gN) beta2)",
           make_hierarchical}};
}

}  // namespace simsgd::schedules

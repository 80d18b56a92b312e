#include "sim/collectives/schedules/double_binary_tree_pieces.hpp"

#include <algorithm>
#include <cmath>

namespace simsgd::schedules {

namespace {

// assumed: between the chunks of NCCL's protocols, where the request says none.
constexpr double kPiece_bytes = 65536;
// Of each tree: more only cost host time.
constexpr double kMostPieces = 256;

using Receivers = std::vector<std::int32_t>;

// Of node i in the first tree: its number with the lowest set bit moved up by one; where there is no such
// node, without that bit. Node 0 is the root.
int parent_in_first(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

// The second is the first one mirrored, or shifted by one where nodes are odd: its leaves are inner nodes
// there.
int parent(int tree, int node, int nodes) {
  if (tree == 0) return parent_in_first(node, nodes);
  const bool mirrors = nodes % 2 == 0;
  const int up = parent_in_first(mirrors ? nodes - 1 - node : (node + nodes - 1) % nodes, nodes);
  if (up < 0) return -1;
  return mirrors ? nodes - 1 - up : (up + 1) % nodes;
}

int depth(int tree, int node, int nodes) {
  int steps = 0;
  for (int at = parent(tree, node, nodes); at >= 0; at = parent(tree, at, nodes)) ++steps;
  return steps;
}

// Who sends to whom on the way to the root of a tree, in an order in which everybody has heard its children.
std::vector<Receivers> way_up(int tree, int ranks, int per_node) {
  const int nodes = ranks / per_node;
  const Receivers nobody(static_cast<std::size_t>(ranks), -1);
  std::vector<Receivers> steps;
  for (int place = per_node - 1; place > 0; --place) {
    Receivers& to = steps.emplace_back(nobody);
    for (int rank = place; rank < ranks; rank += per_node) to[static_cast<std::size_t>(rank)] = rank - 1;
  }
  for (int level = nodes - 1; level > 0; --level) {
    std::vector<Receivers> of_level;  // a parent hears its children one after another
    std::vector<std::size_t> heard(static_cast<std::size_t>(nodes), 0);
    for (int node = 0; node < nodes; ++node) {
      if (depth(tree, node, nodes) != level) continue;
      const int up = parent(tree, node, nodes);
      const std::size_t step = heard[static_cast<std::size_t>(up)]++;
      if (step >= of_level.size()) of_level.push_back(nobody);
      of_level[step][static_cast<std::size_t>(node) * static_cast<std::size_t>(per_node)] = up * per_node;
    }
    steps.insert(steps.end(), of_level.begin(), of_level.end());
  }
  return steps;
}

}  // namespace

std::vector<std::int32_t> reversed(const std::vector<std::int32_t>& to) {
  std::vector<std::int32_t> from(to.size(), -1);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] >= 0) from[static_cast<std::size_t>(to[i])] = static_cast<std::int32_t>(i);
  return from;
}

Schedule double_tree_in_pieces(const ScheduleRequest& request) {
  Schedule schedule{"double_binary_tree", request.ranks, {}, true, false};
  if (request.ranks == 1) return schedule;
  const double piece = request.piece_bytes > 0 ? request.piece_bytes : kPiece_bytes;
  const int pieces = static_cast<int>(std::clamp(std::ceil(request.bytes / 2 / piece), 1.0, kMostPieces));
  schedule.blocks = 2 * pieces;
  const double bytes = request.bytes / schedule.blocks;
  const std::vector<Receivers> up[] = {way_up(0, request.ranks, request.ranks_per_node),
                                       way_up(1, request.ranks, request.ranks_per_node)};
  const auto carries = [pieces](int tree, int piece_number, bool adds) {
    return Carried{adds, [block = tree * pieces + piece_number](std::int32_t, std::int32_t) {
                     return BlockRange{block, 1};
                   }};
  };
  const int behind = static_cast<int>(std::max(up[0].size(), up[1].size()));  // steps to the root
  for (int slot = 0; slot < pieces + behind; ++slot) {
    for (int tree = 0; tree < 2 && slot < pieces; ++tree)
      for (const Receivers& to : up[tree])
        schedule.stages.push_back(make_stage(to, bytes, bytes, 1, carries(tree, slot, true)));
    for (int tree = 0; tree < 2 && slot >= behind; ++tree)
      for (auto to = up[tree].rbegin(); to != up[tree].rend(); ++to)
        schedule.stages.push_back(
            make_stage(reversed(*to), bytes, 0, 1, carries(tree, slot - behind, false)));
  }
  return schedule;
}

}  // namespace simsgd::schedules

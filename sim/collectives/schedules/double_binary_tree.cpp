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
// micro-benchmarks send the messages of these pieces.
#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

// The messages of a double binary tree, piece by piece: what its costs stand for.

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

/// Whom each rank receives from, where it sends to `to` (-1: nobody).
std::vector<std::int32_t> reversed(const std::vector<std::int32_t>& to) {
  std::vector<std::int32_t> from(to.size(), -1);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] >= 0) from[static_cast<std::size_t>(to[i])] = static_cast<std::int32_t>(i);
  return from;
}

/// The two trees share the pieces. A rank sends what it has of one piece up before the sum of an earlier
/// piece comes down, so that pieces follow one another without waiting for the root. `ranks_per_node` divides
/// `ranks`.
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
  schedule.sent_bytes = sent_in_two_trees(nodes, per_node, request.bytes);
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

std::vector<double> simsgd::sent_in_two_trees(int nodes, int per_node, double bytes) {
  std::vector<double> sent(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(per_node), 0.0);
  for (int tree = 0; tree < 2; ++tree)
    for (int rank = 0; rank < nodes * per_node; ++rank) {
      const int up =
          rank % per_node > 0 ? rank - 1 : schedules::parent(tree, rank / per_node, nodes) * per_node;
      if (up < 0) continue;  // the root
      for (const int sender : {rank, up}) sent[static_cast<std::size_t>(sender)] += bytes / 2;
    }
  return sent;
}

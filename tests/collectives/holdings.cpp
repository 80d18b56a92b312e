#include "holdings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace simsgd::test {

namespace {

using Kind = Move::Kind;

std::vector<int> range(int begin, int count) {
  std::vector<int> blocks(static_cast<std::size_t>(count));
  std::iota(blocks.begin(), blocks.end(), begin);
  return blocks;
}

int modulo(int a, int n) { return ((a % n) + n) % n; }

// P blocks. In step s rank r sends the partial sum of block r - 1 - s, and is left with block r.
void add_ring_reduction(Meaning& meaning, int ranks) {
  for (int s = 0; s + 1 < ranks; ++s)
    meaning.moves.push_back({Kind::add, [=](int r) { return std::vector{modulo(r - 1 - s, ranks)}; }});
}

// In step s rank r passes on block r - s, which it got in the step before.
void add_ring_gather(Meaning& meaning, int ranks) {
  for (int s = 0; s + 1 < ranks; ++s)
    meaning.moves.push_back({Kind::copy, [=](int r) { return std::vector{modulo(r - s, ranks)}; }});
}

// The whole vector in every message.
void add_whole(Meaning& meaning, int moves, Kind kind) {
  for (int i = 0; i < moves; ++i)
    meaning.moves.push_back({kind, [n = meaning.blocks](int) { return range(0, n); }});
}

// Recursive halving among the first `active` ranks: rank r gives its partner r ^ d the partner's half of what
// it still sums up, and is left with block r.
void add_halving(Meaning& meaning, int active) {
  for (int d = active / 2; d >= 1; d /= 2)
    meaning.moves.push_back({Kind::add, [d](int r) { return range((r ^ d) & ~(d - 1), d); }});
}

// Recursive doubling: rank r sends the d finished blocks that it has.
void add_doubling(Meaning& meaning, int active) {
  for (int d = 1; d < active; d *= 2)
    meaning.moves.push_back({Kind::copy, [d](int r) { return range(r & ~(d - 1), d); }});
}

// Rank l of node n. The block of a pair (i, j) is N i + j: part i of the vector is summed up by local rank i,
// and piece j of it by node j.
Meaning hierarchical(const ScheduleRequest& request) {
  const int g = request.ranks_per_node, nodes = request.ranks / g;
  Meaning meaning{request.ranks, {}};
  const auto part = [=](int i) { return range(nodes * modulo(i, g), nodes); };
  const auto piece = [=](int i, int j) { return std::vector{nodes * i + modulo(j, nodes)}; };
  for (int s = 0; s + 1 < g; ++s)
    meaning.moves.push_back({Kind::add, [=](int r) { return part(r % g - 1 - s); }});
  for (int s = 0; s + 1 < nodes; ++s)
    meaning.moves.push_back({Kind::add, [=](int r) { return piece(r % g, r / g - 1 - s); }});
  for (int s = 0; s + 1 < nodes; ++s)
    meaning.moves.push_back({Kind::copy, [=](int r) { return piece(r % g, r / g - s); }});
  for (int s = 0; s + 1 < g; ++s)
    meaning.moves.push_back({Kind::copy, [=](int r) { return part(r % g - s); }});
  return meaning;
}

Meaning rabenseifner(int ranks) {
  const int active = power_of_two_below(ranks);
  Meaning meaning{active, {}};
  if (active < ranks) add_whole(meaning, 1, Kind::add);
  add_halving(meaning, active);
  add_doubling(meaning, active);
  if (active < ranks) add_whole(meaning, 1, Kind::copy);
  return meaning;
}

Meaning recursive_doubling(int ranks) {
  const int active = power_of_two_below(ranks);
  Meaning meaning;
  add_whole(meaning, ceil_log2(active) + (active < ranks ? 1 : 0), Kind::add);
  if (active < ranks) add_whole(meaning, 1, Kind::copy);
  return meaning;
}

// Rank r holds blocks r, r + 1, ...; it sends the first of them, as many as the receiver still misses.
Meaning bruck(int ranks) {
  Meaning meaning{ranks, {}};
  for (int held = 1; held < ranks; held *= 2) {
    meaning.moves.push_back({Kind::copy, [=](int r) {
                               std::vector<int> blocks = range(r, std::min(held, ranks - held));
                               for (int& block : blocks) block %= ranks;
                               return blocks;
                             }});
  }
  return meaning;
}

// Bruck's backwards: rank r passes on what it has summed up for rank r + d and those behind it.
Meaning aggregated_trees(int ranks) {
  Meaning meaning{ranks, {}};
  for (int d = ranks > 1 ? 1 << (ceil_log2(ranks) - 1) : 0; d >= 1; d /= 2)
    meaning.moves.push_back({Kind::add, [=](int r) {
                               std::vector<int> blocks = range(r + d, std::min(d, ranks - d));
                               for (int& block : blocks) block %= ranks;
                               return blocks;
                             }});
  return meaning;
}

// Part v belongs to the rank v places after the root. The rank at v gives its child at distance d the parts
// of the child's subtree, which are fewer than d for the last child only: that is a step of its own.
Meaning scatter_all_gather(const ScheduleRequest& request) {
  const int ranks = request.ranks;
  const auto place = [=](int r) { return modulo(r - request.root, ranks); };
  Meaning meaning{ranks, {}};
  for (int d = ranks > 1 ? 1 << (ceil_log2(ranks) - 1) : 0; d >= 1; d /= 2) {
    int full = 0, cut = 0;
    for (int v = 0; v + d < ranks; v += 2 * d) ++(ranks - v - d < d ? cut : full);
    for (int step = 0; step < (full > 0 ? 1 : 0) + cut; ++step)
      meaning.moves.push_back(
          {Kind::copy, [=](int r) { return range(place(r) + d, std::min(d, ranks - place(r) - d)); }});
  }
  for (int s = 0; s + 1 < ranks; ++s)
    meaning.moves.push_back({Kind::copy, [=](int r) { return std::vector{modulo(place(r) - s, ranks)}; }});
  return meaning;
}

Meaning meaning_of_all_reduce(const std::string& schedule, const ScheduleRequest& request) {
  const int ranks = request.ranks;
  Meaning meaning;
  if (schedule == "hierarchical") return hierarchical(request);
  if (schedule == "rabenseifner") return rabenseifner(ranks);
  if (schedule == "recursive_doubling") return recursive_doubling(ranks);
  if (schedule == "tree") {
    add_whole(meaning, ceil_log2(ranks), Kind::add);
    add_whole(meaning, ceil_log2(ranks), Kind::copy);
    return meaning;
  }
  if (schedule != "ring")
    throw std::runtime_error("no meaning is written down for all_reduce by " + schedule);
  meaning.blocks = ranks;
  add_ring_reduction(meaning, ranks);
  add_ring_gather(meaning, ranks);
  return meaning;
}

void deliver(Ranks& held, Ranks sent, Kind kind, const std::string& where) {
  if (sent == 0) throw std::runtime_error(where + " is sent by a rank that has nothing of it");
  if (kind == Kind::add && (held & sent) != 0) throw std::runtime_error(where + " gets a contribution twice");
  if (kind == Kind::copy && (held & ~sent) != 0)
    throw std::runtime_error(where + " is overwritten with less than it holds");
  held |= sent;
}

void run_move(const Stage& stage, const Move& move, double block_bytes, Holdings& holdings) {
  const Holdings before = holdings;
  for (std::size_t i = 0; i < stage.to.size(); ++i) {
    if (stage.to[i] < 0) continue;
    const std::vector<int> blocks = move.blocks(static_cast<int>(i));
    const double bytes = block_bytes * static_cast<double>(blocks.size());
    const double added = move.kind == Kind::add ? bytes : 0;
    if (std::fabs(stage.bytes - bytes) > 1e-12 * bytes ||
        std::fabs(stage.reduce_bytes - added) > 1e-12 * bytes)
      throw std::runtime_error(
          fmt::format("a message of {} bytes, of which {} are added up, should have {} and {}", stage.bytes,
                      stage.reduce_bytes, bytes, added));
    for (const int block : blocks) {
      const auto b = static_cast<std::size_t>(block);
      deliver(holdings[static_cast<std::size_t>(stage.to[i])][b], before[i][b], move.kind,
              fmt::format("block {} of the message {} -> {}", block, i, stage.to[i]));
    }
  }
}

}  // namespace

Meaning meaning_of(CollectiveOp op, const std::string& schedule, const ScheduleRequest& request) {
  const int ranks = request.ranks;
  Meaning meaning;
  switch (op) {
    case CollectiveOp::all_reduce:
      return meaning_of_all_reduce(schedule, request);
    case CollectiveOp::reduce_scatter:
      if (schedule == "pat") return aggregated_trees(ranks);
      meaning.blocks = ranks;
      if (schedule == "ring") add_ring_reduction(meaning, ranks);
      if (schedule == "recursive_halving") add_halving(meaning, ranks);
      return meaning;
    case CollectiveOp::all_gather:
      if (schedule == "bruck" || schedule == "pat") return bruck(ranks);
      meaning.blocks = ranks;
      if (schedule == "ring") add_ring_gather(meaning, ranks);
      return meaning;
    case CollectiveOp::broadcast:
      if (schedule == "scatter_all_gather") return scatter_all_gather(request);
      add_whole(meaning, ceil_log2(ranks), Kind::copy);
      return meaning;
    case CollectiveOp::reduce:
      add_whole(meaning, ceil_log2(ranks), Kind::add);
      return meaning;
    default:
      add_whole(meaning, ceil_log2(ranks), Kind::tell);
      return meaning;
  }
}

Holdings run(const Schedule& schedule, const Meaning& meaning, double bytes, Holdings holdings) {
  auto move = meaning.moves.begin();
  for (const Stage& stage : schedule.stages) {
    for (int i = 0; i < stage.repeat; ++i) {
      if (move == meaning.moves.end())
        throw std::runtime_error("the schedule has more steps than its meaning");
      run_move(stage, *move++, bytes / meaning.blocks, holdings);
    }
  }
  if (move != meaning.moves.end()) throw std::runtime_error("the schedule has fewer steps than its meaning");
  return holdings;
}

std::vector<Ranks> dependencies(const Schedule& schedule) {
  std::vector<Ranks> after;
  for (int rank = 0; rank < schedule.ranks; ++rank) after.push_back(just(rank));
  for (const Stage& stage : schedule.stages) {
    for (int i = 0; i < stage.repeat; ++i) {
      const std::vector<Ranks> before = after;
      for (std::size_t from = 0; from < stage.to.size(); ++from) {
        if (stage.to[from] < 0) continue;
        const auto to = static_cast<std::size_t>(stage.to[from]);
        after[from] |= before[to];
        after[to] |= before[from];
      }
    }
  }
  return after;
}

}  // namespace simsgd::test

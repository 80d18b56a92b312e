// What the messages of a schedule carry, sent along on real vectors: every schedule gives exactly the sum,
// the vector or the parts that its operation promises, at every rank. Small whole numbers, so that sums are
// exact in any order; the expected result is added up here, without any schedule.
#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "sim/collectives/schedules.hpp"

namespace simsgd::test::collectives_carried {

using Op = CollectiveOp;
using Vector = std::vector<float>;

namespace {

/// Rank r's entry i: different everywhere, and of both signs.
float entry(int rank, std::size_t i) {
  return static_cast<float>((7 * rank + 13 * static_cast<int>(i)) % 101 - 50);
}

Vector contribution(int rank, std::size_t n) {
  Vector values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = entry(rank, i);
  return values;
}

std::size_t begin_of(std::size_t n, int block, int blocks) {
  return n * static_cast<std::size_t>(block) / static_cast<std::size_t>(blocks);
}

/// What a rank holds of each block; nothing of a block that it has not heard of.
using Held = std::vector<Vector>;

Held cut(const Vector& whole, int blocks) {
  Held held;
  for (int block = 0; block < blocks; ++block)
    held.emplace_back(whole.begin() + static_cast<std::ptrdiff_t>(begin_of(whole.size(), block, blocks)),
                      whole.begin() + static_cast<std::ptrdiff_t>(begin_of(whole.size(), block + 1, blocks)));
  return held;
}

Vector joined(const Held& held) {
  Vector all;
  for (const Vector& block : held) all.insert(all.end(), block.begin(), block.end());
  return all;
}

/// Every message of a stage leaves before any of them arrives.
void run_stage(const Stage& stage, int time, int blocks, std::vector<Held>& ranks) {
  const std::vector<Held> before = ranks;
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    if (stage.to[from] < 0) continue;
    const BlockRange range = stage.carried_by(static_cast<std::int32_t>(from), time);
    REQUIRE(range.count <= blocks);
    for (int i = 0; i < range.count; ++i) {
      const auto block = static_cast<std::size_t>((range.first + i) % blocks);
      const Vector& sent = before[from].at(block);
      Vector& got = ranks[static_cast<std::size_t>(stage.to[from])].at(block);
      if (stage.carries.adds) {
        REQUIRE(got.size() == sent.size());
        for (std::size_t entry_of = 0; entry_of < sent.size(); ++entry_of) got[entry_of] += sent[entry_of];
      } else {
        got = sent;
      }
    }
  }
}

void run_schedule(const Schedule& schedule, std::vector<Held>& ranks) {
  for (const Stage& stage : schedule.stages)
    for (int time = 0; time < stage.repeat; ++time) run_stage(stage, time, schedule.blocks, ranks);
}

/// The bytes of a message are those of the blocks in it, and what is added up is what is to be added.
void check_bytes(const Schedule& schedule, double block_bytes) {
  for (const Stage& stage : schedule.stages)
    for (std::int32_t rank = 0; rank < schedule.ranks; ++rank)
      for (int time = 0; time < stage.repeat; ++time) {
        if (stage.to[static_cast<std::size_t>(rank)] < 0) continue;
        const double carried = block_bytes * stage.carried_by(rank, time).count;
        CHECK(stage.bytes == doctest::Approx(carried).epsilon(1e-12));
        CHECK(stage.reduce_bytes == doctest::Approx(stage.carries.adds ? carried : 0).epsilon(1e-12));
      }
}

bool fits(const SchedulePlugin& plugin, const ScheduleRequest& request) {
  if (plugin.info.name == "recursive_halving") return power_of_two_below(request.ranks) == request.ranks;
  const bool by_nodes = plugin.info.name == "hierarchical" || plugin.info.name == "double_binary_tree" ||
                        plugin.info.name == "nvls";
  return by_nodes || request.ranks_per_node == 1;
}

/// Calls `check(schedule, root, n)` for every schedule of the operation among P = 1 to 9, every root that
/// makes a difference, every way to fill nodes equally, and vectors of 0, 1, 7, P - 1 and 1000 entries.
template <class Check>
void for_each_schedule(Op op, bool rooted, const Check& check) {
  std::set<std::string> seen;
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (int root = 0; root < (rooted ? ranks : 1); ++root)
      for (int per_node = 1; per_node <= ranks; ++per_node)
        for (const std::size_t n : std::set<std::size_t>{0, 1, 7, static_cast<std::size_t>(ranks - 1), 1000})
          for (const SchedulePlugin& plugin : schedule_plugins()) {
            const double bytes = 4.0 * static_cast<double>(n);
            const ScheduleRequest request{ranks, bytes, root, per_node, 300};
            if (plugin.op != op || ranks % per_node != 0 || !fits(plugin, request)) continue;
            Schedule schedule = plugin.make(request);
            if (schedule.one_by_one) schedule = schedule.one_by_one();
            CAPTURE(plugin.info.name);
            CAPTURE(ranks);
            CAPTURE(root);
            CAPTURE(per_node);
            CAPTURE(n);
            seen.insert(plugin.info.name);
            check(schedule, root, n);
          }
  std::set<std::string> all;
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == op) all.insert(plugin.info.name);
  CHECK(seen == all);
}

std::vector<Held> all_contributions(const Schedule& schedule, std::size_t n) {
  std::vector<Held> held;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    held.push_back(cut(contribution(rank, n), schedule.blocks));
  return held;
}

Vector sum(int ranks, std::size_t n) {
  Vector all(n, 0.0F);
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < n; ++i) all[i] += entry(rank, i);
  return all;
}

}  // namespace

TEST_CASE("all_reduce: every rank has the sum, by every schedule") {
  for_each_schedule(Op::all_reduce, false, [](const Schedule& schedule, int, std::size_t n) {
    std::vector<Held> held = all_contributions(schedule, n);
    run_schedule(schedule, held);
    for (const Held& each : held) REQUIRE(joined(each) == sum(schedule.ranks, n));
    check_bytes(schedule, 4.0 * static_cast<double>(n) / schedule.blocks);
  });
}

TEST_CASE("reduce: the root has the sum; reduce_scatter: rank i has part i of it") {
  for_each_schedule(Op::reduce, true, [](const Schedule& schedule, int root, std::size_t n) {
    std::vector<Held> held = all_contributions(schedule, n);
    run_schedule(schedule, held);
    REQUIRE(joined(held[static_cast<std::size_t>(root)]) == sum(schedule.ranks, n));
    check_bytes(schedule, 4.0 * static_cast<double>(n) / schedule.blocks);
  });
  for_each_schedule(Op::reduce_scatter, false, [](const Schedule& schedule, int, std::size_t n) {
    std::vector<Held> held = all_contributions(schedule, n);
    run_schedule(schedule, held);
    const Vector whole = sum(schedule.ranks, n);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      // Cut as the operation is, whatever the schedule's blocks.
      const Vector all = joined(held[static_cast<std::size_t>(rank)]);
      const std::size_t begin = begin_of(n, rank, schedule.ranks),
                        end = begin_of(n, rank + 1, schedule.ranks);
      for (std::size_t i = begin; i < end; ++i) REQUIRE(all[i] == whole[i]);
    }
    check_bytes(schedule, 4.0 * static_cast<double>(n) / schedule.blocks);
  });
}

TEST_CASE("broadcast: every rank has the root's vector, and nothing of its own") {
  for_each_schedule(Op::broadcast, true, [](const Schedule& schedule, int root, std::size_t n) {
    std::vector<Held> held(static_cast<std::size_t>(schedule.ranks),
                           Held(static_cast<std::size_t>(schedule.blocks)));
    held[static_cast<std::size_t>(root)] = cut(contribution(root, n), schedule.blocks);
    run_schedule(schedule, held);
    for (const Held& each : held) REQUIRE(joined(each) == contribution(root, n));
    check_bytes(schedule, 4.0 * static_cast<double>(n) / schedule.blocks);
  });
}

TEST_CASE("all_gather: every rank has what every rank gave, of whatever length") {
  for_each_schedule(Op::all_gather, false, [](const Schedule& schedule, int, std::size_t n) {
    REQUIRE(schedule.blocks == schedule.ranks);
    Held expected;
    for (int rank = 0; rank < schedule.ranks; ++rank)
      expected.push_back(contribution(rank, n + static_cast<std::size_t>(rank)));
    std::vector<Held> held(static_cast<std::size_t>(schedule.ranks), Held(expected.size()));
    for (std::size_t rank = 0; rank < held.size(); ++rank) held[rank][rank] = expected[rank];
    run_schedule(schedule, held);
    for (const Held& each : held) REQUIRE(each == expected);
    check_bytes(schedule, 4.0 * static_cast<double>(n) / schedule.blocks);
  });
}

TEST_CASE("all_to_all: rank j has part j of what every rank gave") {
  for_each_schedule(Op::all_to_all, false, [](const Schedule& schedule, int, std::size_t n) {
    const int ranks = schedule.ranks;
    REQUIRE(schedule.blocks == ranks * ranks);
    std::vector<Held> held(static_cast<std::size_t>(ranks), Held(static_cast<std::size_t>(ranks * ranks)));
    for (int rank = 0; rank < ranks; ++rank) {
      const Held parts = cut(contribution(rank, n), ranks);
      for (int part = 0; part < ranks; ++part)
        held[static_cast<std::size_t>(rank)]
            [static_cast<std::size_t>(ranks) * static_cast<std::size_t>(rank) +
             static_cast<std::size_t>(part)] = parts[static_cast<std::size_t>(part)];
    }
    run_schedule(schedule, held);
    for (int rank = 0; rank < ranks; ++rank)
      for (int from = 0; from < ranks; ++from)
        REQUIRE(held[static_cast<std::size_t>(rank)][static_cast<std::size_t>(ranks * from + rank)] ==
                cut(contribution(from, n), ranks)[static_cast<std::size_t>(rank)]);
    check_bytes(schedule, 4.0 * static_cast<double>(n) / ranks);
  });
}

TEST_CASE(
    "a double binary tree: each rank sends what its pieces are, 2 (P-1) m in all and at most 2 m, or 3 m before a chain") {
  for (int ranks = 2; ranks <= 24; ++ranks)
    for (int per_node = 1; per_node <= ranks; ++per_node) {
      if (ranks % per_node != 0) continue;
      CAPTURE(ranks);
      CAPTURE(per_node);
      const Schedule whole =
          find_schedule(Op::all_reduce, "double_binary_tree")->make({ranks, 8000, 0, per_node, 500});
      const Schedule pieces = whole.one_by_one();
      CHECK(pieces.blocks == 2 * 8);
      std::vector<double> sent(static_cast<std::size_t>(ranks), 0.0);
      for (const Stage& stage : pieces.stages)
        for (std::size_t rank = 0; rank < sent.size(); ++rank)
          if (stage.to[rank] >= 0) sent[rank] += stage.bytes;
      for (std::size_t rank = 0; rank < sent.size(); ++rank) {
        CHECK(whole.sent_bytes[rank] == doctest::Approx(sent[rank]).epsilon(1e-12));
        CHECK(sent[rank] <= (per_node > 1 ? 3 : 2) * 8000.0 + 1e-6);
      }
      CHECK(std::accumulate(sent.begin(), sent.end(), 0.0) == doctest::Approx(2 * (ranks - 1) * 8000.0));
      // Among the switches of nodes each GPU's part goes through such trees, and the vector and a part
      // inside.
      const Schedule switches = find_schedule(Op::all_reduce, "nvls")->make({ranks, 8000, 0, per_node, 0});
      const int nodes = ranks / per_node;
      const double inside = per_node > 1 ? 8000.0 * (per_node + 1) : 0;
      CHECK(std::accumulate(switches.sent_bytes.begin(), switches.sent_bytes.end(), 0.0) ==
            doctest::Approx(2 * (nodes - 1) * 8000.0 + nodes * inside));
    }
}

}  // namespace simsgd::test::collectives_carried

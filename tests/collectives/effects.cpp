// Every schedule is correct as an algorithm: it brings every contribution where the operation wants it,
// exactly once, with the bytes that it says. For P = 1 to 17 and 32, every root, and every way to spread P
// over nodes.
#include <doctest/doctest.h>

#include <set>

#include "holdings.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::test::collectives_effects {

using Op = CollectiveOp;

namespace {

constexpr int kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32};
constexpr double kBytes = 1e6 + 1;

bool is_power_of_two(int n) { return power_of_two_below(n) == n; }

// Calls `check(schedule, final holdings)` for every schedule of `op` on P ranks, all blocks starting as
// `start(rank, block, blocks)`.
template <class Start, class Check>
void for_each_schedule(Op op, const ScheduleRequest& request, const Start& start, const Check& check) {
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    if (plugin.op != op) continue;
    if (plugin.info.name == "recursive_halving" && !is_power_of_two(request.ranks)) continue;
    if (plugin.info.name == "double_binary_tree" || plugin.info.name == "nvls")
      continue;  // its stages are costs of a pipeline, not its pieces
    const std::string what = op_name(op) + " by " + plugin.info.name;
    CAPTURE(what);
    CAPTURE(request.ranks);
    CAPTURE(request.root);
    CAPTURE(request.ranks_per_node);
    const Schedule schedule = plugin.make(request);
    const Meaning meaning = meaning_of(op, plugin.info.name, request);
    Holdings holdings(static_cast<std::size_t>(request.ranks));
    for (int rank = 0; rank < request.ranks; ++rank)
      for (int block = 0; block < meaning.blocks; ++block)
        holdings[static_cast<std::size_t>(rank)].push_back(start(rank, block));
    CHECK(schedule.name == plugin.info.name);
    CHECK(schedule.ranks == request.ranks);
    CHECK_NOTHROW(holdings = run(schedule, meaning, request.bytes, std::move(holdings)));
    check(schedule, holdings);
  }
}

Ranks own(int rank, int /*block*/) { return just(rank); }

}  // namespace

TEST_CASE("all_reduce: every rank ends with every rank's contribution to every block, never twice") {
  for (const int ranks : kSizes) {
    for (int per_node = 1; per_node <= ranks; ++per_node) {
      if (ranks % per_node != 0) continue;
      for_each_schedule(Op::all_reduce, {ranks, kBytes, 0, per_node}, own,
                        [&](const Schedule&, const Holdings& holdings) {
                          for (const auto& of_rank : holdings)
                            for (const Ranks in_block : of_rank) CHECK(in_block == everybody(ranks));
                        });
    }
  }
}

TEST_CASE("reduce_scatter: rank i ends with block i of the sum") {
  for (const int ranks : kSizes) {
    for_each_schedule(Op::reduce_scatter, {ranks, kBytes, 0, 1}, own,
                      [&](const Schedule&, const Holdings& holdings) {
                        for (std::size_t rank = 0; rank < holdings.size(); ++rank)
                          CHECK(holdings[rank][rank] == everybody(ranks));
                      });
  }
}

TEST_CASE("all_gather: every rank ends with the block of every rank") {
  const auto own_block = [](int rank, int block) { return rank == block ? just(rank) : Ranks{0}; };
  for (const int ranks : kSizes) {
    for_each_schedule(Op::all_gather, {ranks, kBytes, 0, 1}, own_block,
                      [&](const Schedule&, const Holdings& holdings) {
                        for (const auto& of_rank : holdings)
                          for (std::size_t block = 0; block < of_rank.size(); ++block)
                            CHECK(of_rank[block] == just(static_cast<int>(block)));
                      });
  }
}

TEST_CASE("broadcast: every rank ends with the root's vector, for every root") {
  for (const int ranks : kSizes) {
    for (int root = 0; root < ranks; ++root) {
      const auto roots = [root](int rank, int) { return rank == root ? just(root) : Ranks{0}; };
      for_each_schedule(Op::broadcast, {ranks, kBytes, root, 1}, roots,
                        [&](const Schedule& schedule, const Holdings& holdings) {
                          for (const auto& of_rank : holdings)
                            for (const Ranks in_block : of_rank) CHECK(in_block == just(root));
                          if (schedule.name == "tree")
                            CHECK(schedule.messages() == ranks - 1);  // nobody is told twice
                        });
    }
  }
}

TEST_CASE("reduce: the root ends with every rank's contribution, for every root") {
  for (const int ranks : kSizes) {
    for (int root = 0; root < ranks; ++root) {
      for_each_schedule(Op::reduce, {ranks, kBytes, root, 1}, own,
                        [&](const Schedule& schedule, const Holdings& holdings) {
                          CHECK(holdings[static_cast<std::size_t>(root)][0] == everybody(ranks));
                          CHECK(schedule.messages() == ranks - 1);
                        });
    }
  }
}

TEST_CASE("barrier: every rank has heard, directly or not, of every rank's arrival") {
  for (const int ranks : kSizes) {
    for_each_schedule(Op::barrier, {ranks, 0, 0, 1}, own, [&](const Schedule&, const Holdings& holdings) {
      for (const auto& of_rank : holdings) CHECK(of_rank[0] == everybody(ranks));
    });
  }
}

TEST_CASE("a schedule that says that all wait for all means it") {
  for (const int ranks : kSizes) {
    for (const SchedulePlugin& plugin : schedule_plugins()) {
      if (plugin.info.name == "recursive_halving" && !is_power_of_two(ranks)) continue;
      const Schedule schedule = plugin.make({ranks, kBytes, 0, 1});
      CAPTURE(plugin.info.name);
      CAPTURE(ranks);
      CHECK(schedule.all_wait_for_all == ((plugin.op != Op::broadcast && plugin.op != Op::reduce) ||
                                          plugin.info.name == "scatter_all_gather"));
      if (!schedule.all_wait_for_all) continue;
      for (const Ranks waited_for : dependencies(schedule)) CHECK(waited_for == everybody(ranks));
    }
  }
}

TEST_CASE("all_to_all: every rank sends its part to every other, once") {
  for (const int ranks : kSizes) {
    CAPTURE(ranks);
    std::set<std::pair<int, int>> pairs;
    for (const Stage& stage : find_schedule(Op::all_to_all, "pairwise")->make({ranks, kBytes, 0, 1}).stages) {
      CHECK(stage.repeat == 1);
      CHECK(stage.bytes == kBytes / ranks);
      for (int from = 0; from < ranks; ++from)
        CHECK(pairs.emplace(from, stage.to[static_cast<std::size_t>(from)]).second);
    }
    CHECK(pairs.size() == static_cast<std::size_t>(ranks * (ranks - 1)));
  }
}

TEST_CASE("messages per operation, by hand") {
  const auto messages = [](Op op, const char* name, int ranks, int per_node) {
    return find_schedule(op, name)->make({ranks, 1e6, 0, per_node}).messages();
  };
  CHECK(messages(Op::all_reduce, "ring", 8, 1) == 2 * 7 * 8);
  CHECK(messages(Op::all_reduce, "recursive_doubling", 8, 1) == 3 * 8);
  CHECK(messages(Op::all_reduce, "recursive_doubling", 11, 1) == 3 + 3 * 8 + 3);  // 3 beyond 8 give and get
  CHECK(messages(Op::all_reduce, "rabenseifner", 8, 1) == 2 * 3 * 8);
  CHECK(messages(Op::all_reduce, "tree", 11, 1) == 2 * 10);
  CHECK(messages(Op::all_reduce, "hierarchical", 12, 4) == 2 * 3 * 12 + 2 * 2 * 12);  // 3 nodes of 4
  CHECK(messages(Op::all_gather, "bruck", 11, 1) == 4 * 11);
  CHECK(messages(Op::barrier, "dissemination", 11, 1) == 4 * 11);
  CHECK(messages(Op::all_reduce, "ring", 1024, 1) == 2'095'104);
}

TEST_CASE("schedules that cannot be made say why") {
  CHECK_THROWS_WITH_AS(
      find_schedule(Op::reduce_scatter, "recursive_halving")->make({6, 1e6, 0, 1}),
      "/reduce_scatter: recursive halving needs a power of two of ranks. Use the schedule \"ring\", or 2^n ranks",
      ParameterError);
  for (const int per_node : {0, 4}) {  // 0: nodes differ; 4 does not divide 6
    CHECK_THROWS_WITH_AS(
        find_schedule(Op::all_reduce, "hierarchical")->make({6, 1e6, 0, per_node}),
        "/all_reduce: the schedule \"hierarchical\" needs the same number of ranks on every node. Use \"ring\", or a number of workers that fills every node equally",
        ParameterError);
  }
}

TEST_CASE("every operation has a default schedule, and unknown names give none") {
  for (const Op op :
       {Op::all_reduce, Op::reduce_scatter, Op::all_gather, Op::broadcast, Op::reduce, Op::barrier}) {
    CAPTURE(op_name(op));
    CHECK(find_schedule(op, default_schedule(op)) != nullptr);
    CHECK(find_schedule(op, "bogus") == nullptr);
  }
  CHECK(default_schedule(Op::all_reduce) == "ring");
}

}  // namespace simsgd::test::collectives_effects

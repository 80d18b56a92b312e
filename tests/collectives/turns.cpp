// A link that several senders use is shared only where their messages can meet: who hears of the end of the
// one before waits for it. Against random schedules with random times.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "sim/collectives/early_leave.hpp"
#include "sim/collectives/plan.hpp"
#include "support.hpp"

namespace simsgd::test::collectives_turns {

namespace {

struct Interval {
  double begin_s = 0, end_s = 0;
};
using Busy = std::map<LinkId, std::vector<Interval>>;

Stage stage_of(int ranks, const std::vector<std::pair<int, int>>& messages, int repeat = 1) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks), -1);
  for (const auto& [from, receiver] : messages) to[static_cast<std::size_t>(from)] = receiver;
  return make_stage(to, 1000, 0, repeat);
}

Plan plan_of_stages(const Cluster& cluster, std::vector<Stage> stages) {
  Schedule schedule{"made up", cluster.workers(), std::move(stages), true, false};
  return Plan(std::move(schedule), cluster, all_ranks(cluster), 1000);
}

/// Of two operations in a row, each message taking as long as it likes: when links were busy.
Busy busy_links(const Plan& plan, const Cluster& cluster, std::mt19937& random) {
  std::exponential_distribution<double> draw(1);
  const std::vector<int> ranks = all_ranks(cluster);
  std::vector<double> t(ranks.size());
  Busy busy;
  for (int operation = 0; operation < 2; ++operation) {
    for (double& each : t) each += 3 * draw(random);
    for (const Stage& stage : plan.schedule().stages)
      for (int time = 0; time < stage.repeat; ++time) {
        std::vector<double> left = t;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          if (stage.to[i] < 0) continue;
          const auto j = static_cast<std::size_t>(stage.to[i]);
          const double begin_s = std::max(t[i], t[j]), end_s = begin_s + draw(random);
          for (const std::size_t end : {i, j}) left[end] = std::max(left[end], end_s);
          std::vector<LinkId> path;
          cluster.network.route(cluster.endpoint_of_rank[i], cluster.endpoint_of_rank[j], path);
          for (const LinkId id : path) busy[id].push_back({begin_s, end_s});
        }
        t = left;
      }
  }
  return busy;
}

bool two_at_once(Busy&& busy) {
  for (auto& [link, all] : busy) {
    std::sort(all.begin(), all.end(),
              [](const Interval& a, const Interval& b) { return a.begin_s < b.begin_s; });
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].begin_s < all[i - 1].end_s) return true;
  }
  return false;
}

std::vector<Stage> random_stages(int ranks, std::mt19937& random) {
  std::vector<Stage> stages;
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  const auto count = 3 + static_cast<int>(random() % 5);
  for (int s = 0; s < count; ++s) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::pair<int, int>> messages;
    const std::size_t pairs = 1 + random() % 2;
    for (std::size_t k = 0; k < pairs; ++k) messages.emplace_back(order[2 * k], order[2 * k + 1]);
    stages.push_back(stage_of(ranks, messages, 1 + static_cast<int>(random() % 2)));
  }
  return stages;
}

}  // namespace

TEST_CASE(
    "a NIC is handed on in turn where the next sender heard of the last message, also before the next operation") {
  const Cluster cluster = make_cluster("star", 2, 2);  // ranks 0 and 1 behind one NIC, 2 and 3 behind another
  const Stage first = stage_of(4, {{0, 2}}), second = stage_of(4, {{1, 3}}), tell = stage_of(4, {{0, 1}}),
              answer = stage_of(4, {{1, 0}});
  CHECK_FALSE(plan_of_stages(cluster, {first, second}).sharing().dedicated);        // rank 1 heard nothing
  CHECK_FALSE(plan_of_stages(cluster, {tell, first, second}).sharing().dedicated);  // of what was before
  CHECK_FALSE(
      plan_of_stages(cluster, {first, tell, second}).sharing().dedicated);  // rank 0 may begin the next one
  CHECK(plan_of_stages(cluster, {first, tell, second, answer}).sharing().dedicated);
  CHECK_FALSE(plan_of_stages(cluster, {stage_of(4, {{0, 2}, {1, 3}})}).sharing().dedicated);
}

TEST_CASE(
    "a double binary tree among nodes of several GPUs shares no link, and the closed form costs it exactly") {
  for (const int nodes : {2, 3, 8, 8192}) {
    const Cluster cluster = make_cluster("star", nodes, 4);
    CAPTURE(nodes);
    const SchedulePlugin* plugin = find_schedule(CollectiveOp::all_reduce, "double_binary_tree");
    const Plan plan(plugin->make({4 * nodes, 1e6, 0, 4, 0}), cluster, all_ranks(cluster), 1e6);
    CHECK(plan.sharing().dedicated);
    CHECK(plan.sharing().most_flows == 1);
    const FidelityChoice choice = plan.choose(Fidelity::automatic, false);
    CHECK(choice.fidelity == Fidelity::closed);
    CHECK(choice.exact);
  }
}

TEST_CASE("whatever is told to share no link does not, however long its messages take") {
  std::mt19937 random(7);
  int alone = 0, met = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Cluster cluster = make_cluster("star", 2, trial % 2 == 0 ? 2 : 3);
    const Plan plan = plan_of_stages(cluster, random_stages(cluster.workers(), random));
    bool overlap = false;
    for (int times = 0; times < 10; ++times)
      overlap = overlap || two_at_once(busy_links(plan, cluster, random));
    if (plan.sharing().dedicated) {
      ++alone;
      CAPTURE(trial);
      REQUIRE_FALSE(overlap);
    } else {
      met += overlap ? 1 : 0;
    }
  }
  CHECK(alone > 100);
  CHECK(met > 1000);
}

// EarlyLeave evaluates broadcast and reduce as ranks arrive. Once all have, it must have told what the
// recurrence gives; and each rank's end must be told with the last arrival that it depends on.

using Op = CollectiveOp;

namespace {

// Ends by rank when ranks arrive in the order of their arrivals.
std::vector<double> ends_as_they_come(const Plan& plan, const std::vector<double>& arrivals,
                                      const JitterDraws* jitter) {
  std::vector<std::int32_t> order(arrivals.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return arrivals[static_cast<std::size_t>(a)] < arrivals[static_cast<std::size_t>(b)];
  });
  EarlyLeave early(plan, jitter, false);
  std::vector<EarlyLeave::End> told;
  for (const std::int32_t rank : order) early.arrive(rank, arrivals[static_cast<std::size_t>(rank)], told);
  std::vector<double> ends(arrivals.size(), -1);
  for (const EarlyLeave::End& end : told) {
    CHECK(ends[static_cast<std::size_t>(end.rank)] == -1);  // told once
    ends[static_cast<std::size_t>(end.rank)] = end.end_s;
  }
  return ends;
}

/// The ranks whose ends an arrival makes known, with the last arrival they depend on.
std::map<int, double> told_by(EarlyLeave& early, std::int32_t rank, double time_s) {
  std::vector<EarlyLeave::End> told;
  early.arrive(rank, time_s, told);
  std::map<int, double> known;
  for (const EarlyLeave::End& end : told) known[end.rank] = end.last_arrival_s;
  return known;
}

}  // namespace

TEST_CASE("once all have arrived every rank's end is that of the recurrence, for every root") {
  const JitterTable table(lognormal(3e-6, 0.7));
  for (const int ranks : {1, 2, 3, 5, 8, 13, 16}) {
    for (int root = 0; root < ranks; ++root) {
      for (const Op op : {Op::broadcast, Op::reduce}) {
        for (int variant = 0; variant < 4; ++variant) {
          CAPTURE(op_name(op));
          CAPTURE(ranks);
          CAPTURE(root);
          CAPTURE(variant);
          Cluster cluster = (variant & 1) != 0 ? uneven_star(ranks, 3) : star(ranks);
          cluster.host = {1e-6, 0, 50e9, 1e-11};
          const Plan plan = plan_of(op, "tree", 1e6, cluster, root);
          const JitterDraws draws{&table, 5, 1, 9};
          const JitterDraws* jitter = (variant & 2) != 0 ? &draws : nullptr;
          const std::vector<double> arrivals = spread(ranks, 1e-3, static_cast<std::uint32_t>(root));
          CHECK(ends_as_they_come(plan, arrivals, jitter) == ends_of(plan, arrivals, jitter));
        }
      }
    }
  }
}

TEST_CASE("a broadcast tells of each rank when its parent, itself and its children have arrived") {
  // P = 8, root 0: 0 -> 4; 0 -> 2, 4 -> 6; 0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7.
  const Plan plan = plan_of(Op::broadcast, "tree", 1e6, star(8));
  EarlyLeave early(plan, nullptr, false);
  using Told = std::map<int, double>;
  CHECK(told_by(early, 0, 1.0) == Told{});
  CHECK(told_by(early, 4, 2.0) == Told{});
  CHECK(told_by(early, 1, 3.0) == Told{});  // 0 is to serve 2 before 1
  CHECK(told_by(early, 2, 4.0) == Told{{0, 4.0}, {1, 4.0}});
  CHECK(told_by(early, 7, 5.0) == Told{});
  CHECK(told_by(early, 5, 6.0) == Told{});  // 4 is to serve 6 before 5
  CHECK(told_by(early, 6, 7.0) == Told{{4, 7.0}, {5, 7.0}, {6, 7.0}, {7, 7.0}});
  CHECK(told_by(early, 3, 8.0) == Told{{2, 8.0}, {3, 8.0}});
}

TEST_CASE("a reduction lets a leaf go after its one message; the root waits for all") {
  // P = 4, root 0: 1 -> 0, 3 -> 2; 2 -> 0.
  const Plan plan = plan_of(Op::reduce, "tree", 1e6, star(4));
  EarlyLeave early(plan, nullptr, false);
  using Told = std::map<int, double>;
  CHECK(told_by(early, 1, 1.0) == Told{});
  CHECK(told_by(early, 0, 2.0) == Told{{1, 2.0}});
  CHECK(told_by(early, 2, 3.0) == Told{});
  CHECK(told_by(early, 3, 9.0) == Told{{0, 9.0}, {2, 9.0}, {3, 9.0}});
}

TEST_CASE("by the closed form a rank ends its own time after the last arrival that it depends on") {
  const Plan plan = plan_of(Op::broadcast, "tree", 1e6, star(4));  // 0 -> 2; 0 -> 1, 2 -> 3
  EarlyLeave early(plan, nullptr, true);
  std::vector<EarlyLeave::End> told;
  early.arrive(0, 0.0, told);
  early.arrive(2, 1.0, told);
  early.arrive(1, 0.5, told);
  REQUIRE(told.size() == 2);
  const double hop = kAlpha + 1e6 / kBandwidth;
  for (const EarlyLeave::End& end : told) CHECK(end.end_s == doctest::Approx(1.0 + 2 * hop).epsilon(1e-14));
}

}  // namespace simsgd::test::collectives_turns

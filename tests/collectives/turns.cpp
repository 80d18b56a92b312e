// A link that several senders use is shared only where their messages can meet: who hears of the end of the
// one before waits for it. Against random schedules with random times.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

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

Plan plan_of(const Cluster& cluster, std::vector<Stage> stages) {
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
  CHECK_FALSE(plan_of(cluster, {first, second}).sharing().dedicated);        // rank 1 heard nothing
  CHECK_FALSE(plan_of(cluster, {tell, first, second}).sharing().dedicated);  // of what was before
  CHECK_FALSE(plan_of(cluster, {first, tell, second}).sharing().dedicated);  // rank 0 may begin the next one
  CHECK(plan_of(cluster, {first, tell, second, answer}).sharing().dedicated);
  CHECK_FALSE(plan_of(cluster, {stage_of(4, {{0, 2}, {1, 3}})}).sharing().dedicated);
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
    const Plan plan = plan_of(cluster, random_stages(cluster.workers(), random));
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

}  // namespace simsgd::test::collectives_turns

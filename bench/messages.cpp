// Collectives with every message. CI runs those of 64 ranks, so that they do not rot.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/networks.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd::bench {

namespace {

// A schedule in which all ranks do the same, on links that they share evenly, as one would cost it for this
// alone: one division of each link among its messages a stage.

/// When all ranks are through, all having begun at 0. Throws where the messages of a stage do not end
/// together.
double bare_stages_s(const Cluster& cluster, const Schedule& schedule) {
  const Network& network = cluster.network;
  std::vector<int> flows(network.links.size());
  std::vector<LinkId> path;
  double end_s = 0;
  for (const Stage& stage : schedule.stages) {
    const auto route_of = [&](std::size_t sender) {
      path.clear();
      network.route(cluster.endpoint_of_rank[sender],
                    cluster.endpoint_of_rank[static_cast<std::size_t>(stage.to[sender])], path);
    };
    std::fill(flows.begin(), flows.end(), 0);
    for (std::size_t sender = 0; sender < stage.to.size(); ++sender) {
      route_of(sender);
      for (const LinkId id : path) ++flows[static_cast<std::size_t>(id)];
    }
    double least_s = std::numeric_limits<double>::infinity(), most_s = 0;
    for (std::size_t sender = 0; sender < stage.to.size(); ++sender) {
      route_of(sender);
      double alpha_s = 0, share_Bps = std::numeric_limits<double>::infinity();
      for (const LinkId id : path) {
        const Link& link = network.links[static_cast<std::size_t>(id)];
        alpha_s += link.latency_s;
        share_Bps = std::min(share_Bps, link.bandwidth_Bps / flows[static_cast<std::size_t>(id)]);
      }
      least_s = std::min(least_s, alpha_s + stage.bytes / share_Bps);
      most_s = std::max(most_s, alpha_s + stage.bytes / share_Bps);
    }
    if (most_s > least_s * (1 + 1e-12)) throw std::runtime_error("ranks of a stage do not end together");
    end_s += stage.repeat * most_s;
  }
  return end_s;
}

// A ring all-reduce message by message as one would write it for this alone: a heap of messages that end, two
// counters a rank.

/// When the last rank is through, all having begun at 0: 2 (P - 1) messages of bytes / P to the next rank,
/// each when both sides have ended their last one. For networks on which no two of them meet.
double bare_ring_s(const Cluster& cluster, double bytes) {
  const auto ranks = static_cast<std::size_t>(cluster.workers());
  std::vector<double> takes_s(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    const PathCost path =
        cluster.network.path_cost(cluster.endpoint_of_rank[i], cluster.endpoint_of_rank[(i + 1) % ranks]);
    takes_s[i] = path.alpha_s + bytes / static_cast<double>(ranks) * path.beta_s_per_byte;
  }
  struct End {
    double time_s;
    std::size_t sender;
    bool operator>(const End& other) const { return time_s > other.time_s; }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<std::size_t> step(ranks, 0), open(ranks, 2);
  double now_s = 0;
  const auto try_start = [&](std::size_t sender) {
    if (step[sender] == step[(sender + 1) % ranks]) ends.push({now_s + takes_s[sender], sender});
  };
  for (std::size_t i = 0; i < ranks; ++i) try_start(i);
  while (!ends.empty()) {
    const End end = ends.top();
    ends.pop();
    now_s = end.time_s;
    for (const std::size_t rank : {end.sender, (end.sender + 1) % ranks}) {
      if (--open[rank] > 0) continue;
      open[rank] = 2;
      if (++step[rank] == 2 * (ranks - 1)) continue;
      try_start(rank);
      try_start((rank + ranks - 1) % ranks);
    }
  }
  return now_s;
}

void check_equal(double simulated_s, double bare_s) {
  if (!(std::fabs(simulated_s - bare_s) <= 1e-9 * bare_s))
    throw std::runtime_error(fmt::format("it takes {} s, and {} s by the bare program", simulated_s, bare_s));
}

// 1 MiB on ports of unequal speed, beside a bare loop over the same messages, which must give the same time.
void ring_of_messages(benchmark::State& state, Summary& summary, int ranks, double limit_s) {
  const Cluster cluster = unequal_star(ranks);
  const Plan plan = all_reduce_plan(cluster, "ring", 1048576);
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    const double simulated_s = simulate_plans(cluster, {{&plan, Fidelity::messages}}, nullptr).front();
    const Elapsed elapsed = watch.elapsed();
    const Stopwatch bare_watch;
    const double bare_s = bare_ring_s(cluster, 1048576);
    const Elapsed bare = bare_watch.elapsed();
    check_equal(simulated_s, bare_s);
    state.SetIterationTime(elapsed.wall_s);
    const std::string what = fmt::format("ring of {} ranks, 1 MiB, every message", ranks);
    summary.time(what, elapsed, limit_s);
    summary.ratio(what + " / bare event loop", elapsed, bare, 10);
  }
}

void behind_one_nic(benchmark::State& state, Summary& summary, const std::string& schedule, int ranks,
                    double limit_s) {
  const Cluster cluster = shared_star(ranks / 8, 8);
  const Plan plan = all_reduce_plan(cluster, schedule, 1e8);
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    const double simulated_s = simulate_plans(cluster, {{&plan, Fidelity::messages}}, nullptr).front();
    const Elapsed elapsed = watch.elapsed();
    const Stopwatch bare_watch;
    const double bare_s = bare_stages_s(cluster, plan.schedule());
    const Elapsed bare = bare_watch.elapsed();
    check_equal(simulated_s, bare_s);
    state.SetIterationTime(elapsed.wall_s);
    const std::string what =
        fmt::format("{} of {} ranks, 8 behind one NIC, nothing else on the way", schedule, ranks);
    summary.time(what, elapsed, limit_s);
    summary.ratio(what + " / bare shares of links", elapsed, bare, 0);
  }
}

}  // namespace

void register_messages(Summary& summary) {
  for (const auto& [ranks, limit_s] : {std::pair{64, 0.01}, {256, 0.1}, {1024, 1.5}, {4096, 25.0}})
    add_benchmark(fmt::format("messages/ring/{}", ranks), Clock::told, 1,
                  [&summary, ranks = ranks, limit_s = limit_s](benchmark::State& state) {
                    ring_of_messages(state, summary, ranks, limit_s);
                  });
  const struct {
    const char* schedule;
    double limit_s;
  } cases[] = {{"hierarchical", 0.3}, {"rabenseifner", 3}, {"recursive_doubling", 2}};
  for (const auto& [schedule, limit_s] : cases)
    for (const int ranks : {64, 16384})
      add_benchmark(fmt::format("messages/{}/{}", schedule, ranks), Clock::told, 1,
                    [&summary, schedule = schedule, ranks, limit_s = limit_s](benchmark::State& state) {
                      behind_one_nic(state, summary, schedule, ranks, limit_s);
                    });
}

}  // namespace simsgd::bench

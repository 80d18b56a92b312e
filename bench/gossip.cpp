// Methods in which workers do not wait for all others, time only, as `simsgd run` does it: the cluster and
// the delays of timing_only.json, where the four GPUs of a node share its NIC.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <vector>

#include "algorithms/exchange.hpp"
#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/job.hpp"
#include "sim/roles/compute.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd::bench {

namespace {

// D-PSGD as one would write it without a simulator: a loop over the steps of workers and the messages between
// neighbours.

/// When the last worker ends its last step, on a ring of an even number of workers. All links have one
/// bandwidth, and at most two messages meet on each: a message has half of it while it meets another on any
/// of its links, and else all.
double bare_d_psgd_s(const Job& job, const Plan& exchange);

struct Message {
  std::array<std::size_t, 2> ends{};  // the workers
  double alpha_s = 0;
  std::vector<std::size_t> meets{};  // those that share a link with it
  double left = 0, rate_Bps = 0, since_s = 0;
  bool flows = false;
};

struct Worker {
  std::uint64_t step = 0, posted = 0, open = 0;
  double busy_until_s = 0;
  std::vector<std::size_t> messages{};
};

struct Event {
  double time_s = 0;
  enum class Kind : std::uint8_t { posted, flows, ended } kind = Kind::posted;
  std::size_t of = 0;
  bool operator>(const Event& other) const { return time_s > other.time_s; }
};

std::vector<Message> messages_of(const Job& job, const Plan& plan, std::vector<Worker>& workers) {
  const Network& network = job.cluster.network;
  std::vector<Message> messages;
  std::vector<std::vector<std::size_t>> crossing(network.links.size());
  for (const StageCosts& stage : plan.stage_costs())
    for (std::size_t from = 0; from < workers.size(); ++from) {
      const std::size_t to = static_cast<std::size_t>(stage.stage->to[from]), m = messages.size();
      messages.push_back({{from, to}, stage.alpha_s[from]});
      std::vector<LinkId> path;
      network.route(job.cluster.endpoint_of_rank[from], job.cluster.endpoint_of_rank[to], path);
      for (const auto id : path) {
        std::vector<std::size_t>& others = crossing[static_cast<std::size_t>(id)];
        for (const std::size_t other : others)
          messages[other].meets.push_back(m), messages[m].meets.push_back(other);
        others.push_back(m);
        const Link& link = network.links[static_cast<std::size_t>(id)];
        if (others.size() > 2 || link.bandwidth_Bps != network.links[0].bandwidth_Bps)
          throw std::runtime_error("the bare loop knows two messages on a link, and one bandwidth");
      }
      for (const std::size_t w : messages[m].ends) workers[w].messages.push_back(m);
    }
  return messages;
}

double bare_d_psgd_s(const Job& job, const Plan& plan) {
  std::vector<Worker> workers(static_cast<std::size_t>(job.workers()));
  std::vector<Message> messages = messages_of(job, plan, workers);
  const double step_s = job.workload.step_compute_s(), occupies_s = predicted_s(plan),
               bytes = plan.stage(0).stage->bytes;
  const double slowdown = job.cluster.device.communication_slowdown,
               Bps = job.cluster.network.links[0].bandwidth_Bps;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  double last_s = 0;
  const auto begin_step = [&](std::size_t w, double now_s) {
    Worker& worker = workers[w];
    last_s = std::max(last_s, now_s);
    if (worker.step++ == job.stop.steps) return;
    const StepCost cost = step_cost(job, {.rank = static_cast<int>(w), .step = worker.step}, step_s);
    const double work_s = step_s * cost.scale * cost.straggle;
    now_s += cost.delay_s;
    // The device computes slower while it is predicted to communicate.
    now_s += work_s + slowdown * std::clamp((worker.busy_until_s - now_s) / (1 + slowdown), 0.0, work_s);
    worker.busy_until_s = now_s + occupies_s;
    events.push({now_s + plan.host_before_s(), Event::Kind::posted, w});
  };
  const auto set_rate = [&](std::size_t m, double now_s) {
    Message& message = messages[m];
    const auto flows = [&](std::size_t other) { return messages[other].flows; };
    const double rate_Bps = std::any_of(message.meets.begin(), message.meets.end(), flows) ? Bps / 2 : Bps;
    if (!message.flows || rate_Bps == message.rate_Bps) return;
    message.left -= message.rate_Bps * (now_s - message.since_s);
    message.since_s = now_s, message.rate_Bps = rate_Bps;
    events.push({now_s + message.left / rate_Bps, Event::Kind::ended, m});
  };
  for (std::size_t w = 0; w < workers.size(); ++w) begin_step(w, 0);
  while (!events.empty()) {
    const auto [now_s, kind, of] = events.top();
    events.pop();
    if (kind == Event::Kind::posted) {
      workers[of].posted = workers[of].step;
      workers[of].open = workers[of].messages.size();
      for (const std::size_t m : workers[of].messages)
        if (workers[messages[m].ends[0]].posted == workers[messages[m].ends[1]].posted)
          events.push({now_s + messages[m].alpha_s, Event::Kind::flows, m});
      continue;
    }
    Message& message = messages[of];
    const bool begins = kind == Event::Kind::flows;
    // An end that was put down for another rate is none.
    if (!begins && (!message.flows || now_s < message.since_s + message.left / message.rate_Bps)) continue;
    message.flows = begins;
    message.left = bytes, message.rate_Bps = 0, message.since_s = now_s;
    set_rate(of, now_s);
    for (const std::size_t other : message.meets) set_rate(other, now_s);
    for (const std::size_t w : message.ends)
      if (!begins && --workers[w].open == 0) begin_step(w, now_s + plan.host_after_s());
  }
  return last_s;
}

constexpr const char* kGossipScenario = SIMSGD_SOURCE_DIR "/bench/timing_only.json";

Plan exchange_plan(const Job& job) {
  const Bucket whole = make_buckets(job.workload, ModelFusion()).buckets.front();
  const double bytes = whole.parameters * job.workload.bytes_per_parameter;
  Schedule schedule;
  schedule.ranks = schedule.blocks = job.workers();
  schedule.concurrent = true;
  for (const auto& to : edge_messages(job.graph)) schedule.stages.push_back(make_stage(to, bytes, bytes));
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return Plan(std::move(schedule), job.cluster, ranks, bytes, whole.tensors);
}

double bare_s(const Job& job) { return bare_d_psgd_s(job, exchange_plan(job)); }

void gossip(benchmark::State& state, Summary& summary, const std::string& algorithm, int workers,
            double limit_s) {
  const int steps = workers == 64 ? 100 : 1000;
  const Overrides overrides{{{"/algorithm", fmt::format(R"({{"name": "{}"}})", algorithm)},
                             {"/cluster/workers", std::to_string(workers)},
                             {"/stop/steps", std::to_string(steps)}},
                            {}};
  for ([[maybe_unused]] auto _ : state) {
    const std::string what =
        fmt::format("{}, {} workers x {} steps, 4 GPUs behind a NIC", algorithm, workers, steps);
    const bool has_bare = algorithm == "d_psgd";
    const ScenarioRun run = has_bare ? time_scenario_beside(state, kGossipScenario, overrides, bare_s)
                                     : time_scenario(state, kGossipScenario, overrides);
    summary.time(what, run.elapsed, limit_s);
    if (has_bare) summary.ratio(what + " / bare event loop", run.elapsed, run.bare, 0);
    summary.memory("memory of " + what, run.peak_bytes, 1e9);
  }
}

}  // namespace

void register_gossip(Summary& summary) {
  const struct {
    const char* algorithm;
    double limit_s;
  } cases[] = {{"wagma", 8}, {"eager_sgd", 8}, {"nonblocking", 8}, {"ad_psgd", 4}, {"d_psgd", 3}, {"sgp", 3}};
  for (const auto& [algorithm, limit_s] : cases)
    for (const int workers : {64, 1024})
      add_benchmark(
          fmt::format("gossip/{}/{}", algorithm, workers), Clock::told, 1,
          [&summary, algorithm = std::string(algorithm), workers, limit_s = workers == 64 ? 0.1 : limit_s](
              benchmark::State& state) { gossip(state, summary, algorithm, workers, limit_s); });
}

}  // namespace simsgd::bench

// D-PSGD on a ring and SGP: all messages of a step's round go at once, each when both of its workers have
// computed, and a worker waits for its own.
#include <algorithm>
#include <numeric>

#include "algorithms/buckets.hpp"
#include "algorithms/exchange.hpp"
#include "bench/bare_programs.hpp"
#include "bench/bare_steps.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd::bench {

namespace {

enum Kind : std::uint32_t { kPosted, kMessage };

struct RoundMessage {
  std::uint32_t from = 0, to = 0, path = 0;
};

struct Round {
  std::vector<std::vector<RoundMessage>> of_worker;  // sent and received
  double before_s = 0, after_s = 0, predicted_s = 0;
};

Round make_round(const Job& job, BareLoop& loop, const MessagePattern& messages) {
  const Bucket whole = make_buckets(job.workload, ModelFusion()).buckets.front();
  const double bytes = job.workload.model_bytes();
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  Round round;
  round.of_worker.resize(ranks.size());
  Schedule schedule;
  schedule.ranks = schedule.blocks = job.workers();
  schedule.concurrent = true;
  for (const std::vector<std::int32_t>& to : messages)
    schedule.stages.push_back(make_stage(to, bytes, bytes));
  const Plan plan(std::move(schedule), job.cluster, ranks, bytes, whole.tensors);
  for (const StageCosts& stage : plan.stage_costs())
    for (std::uint32_t from = 0; from < ranks.size(); ++from) {
      if (stage.stage->to[from] < 0) continue;
      const auto to = static_cast<std::uint32_t>(stage.stage->to[from]);
      const RoundMessage message{
          from, to, loop.path(job.cluster.endpoint_of_rank[from], job.cluster.endpoint_of_rank[to])};
      round.of_worker[from].push_back(message);
      round.of_worker[to].push_back(message);
    }
  round.before_s = plan.host_before_s();
  round.after_s = plan.host_after_s();
  round.predicted_s = predicted_s(plan);
  return round;
}

/// `rounds` of the steps 1, 2, ..., over and over; a step ends so long after its round.
double bare_rounds_s(const Job& job, BareLoop& loop, const std::vector<Round>& rounds, double then_s) {
  struct Worker {
    std::uint32_t step = 0, posted = 0;
    std::size_t open = 0;
    double busy_until_s = 0;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(job.workers()));
  double last_s = 0;
  const auto round_of = [&](std::uint32_t w) -> const Round& {
    return rounds[(workers[w].step - 1) % rounds.size()];
  };
  const auto begin_step = [&](std::uint32_t w, double now_s) {
    Worker& worker = workers[w];
    last_s = std::max(last_s, now_s);
    if (worker.step == job.stop.steps) return;
    const BareStep cost = bare_step(job, w, ++worker.step);
    now_s = bare_computed_s(job, now_s + cost.delay_s, cost.work_s, worker.busy_until_s);
    worker.busy_until_s = now_s + round_of(w).predicted_s;
    loop.at({now_s + round_of(w).before_s, kPosted, w});
  };
  for (std::uint32_t w = 0; w < workers.size(); ++w) begin_step(w, 0);
  for (BareEvent event; loop.next(event);) {
    if (event.kind == kPosted) {
      const auto& messages = round_of(event.a).of_worker[event.a];
      workers[event.a].posted = workers[event.a].step;
      workers[event.a].open = messages.size();
      for (const auto& [from, to, path] : messages)
        if (workers[from].posted == workers[to].posted)
          loop.send(path, loop.latency_s(path) + job.cluster.host.message_s, {0, kMessage, from, to});
    } else {
      for (const std::uint32_t w : {event.a, event.b})
        if (--workers[w].open == 0) begin_step(w, loop.now_s() + round_of(w).after_s + then_s);
    }
  }
  return last_s;
}

}  // namespace

double bare_d_psgd_s(const Job& job) {
  BareLoop loop(job.cluster.network, job.workload.model_bytes());
  return bare_rounds_s(job, loop, {make_round(job, loop, edge_messages(job.graph))}, 0);
}

double bare_sgp_s(const Job& job) {
  BareLoop loop(job.cluster.network, job.workload.model_bytes());
  const double scaling_s = 2 * job.workload.model_bytes() * job.cluster.host.scale_s_per_byte;
  std::vector<Round> rounds;
  for (int distance = 1; distance < job.workers(); distance *= 2) {
    std::vector<std::int32_t> to(static_cast<std::size_t>(job.workers()));
    for (int w = 0; w < job.workers(); ++w) to[static_cast<std::size_t>(w)] = (w + distance) % job.workers();
    rounds.push_back(make_round(job, loop, {to}));
  }
  return bare_rounds_s(job, loop, rounds, scaling_s);
}

}  // namespace simsgd::bench

// WAGMA and eager-SGD: all-reduces by recursive doubling, which the first worker that comes begins for all.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "bench/bare_programs.hpp"
#include "bench/bare_steps.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd::bench {

namespace {

// Averages 0, 1, ... are one a step, among workers that differ in bits of the mask alone. One of all workers
// that blocks begins on each when that comes.
struct Average {
  std::uint32_t mask = 0;
  bool blocks = false;
  double before_s = 0, after_s = 0, predicted_s = 0;
};

struct Averager {
  std::uint32_t step = 0, heard = 0, begun = 0;  // the latter of averages
  std::uint32_t left = 0, open = 0;  // bits of the mask that are left to go through; messages of the lowest
  bool came = false, communicates = false;
  double compute_s = 0, busy_until_s = 0;
};

class WaitAvoidingRun {
 public:
  WaitAvoidingRun(const Job& job, std::vector<Average> averages)
      : job_(job),
        averages_(std::move(averages)),
        loop_(job.cluster.network, job.workload.model_bytes()),
        news_(job, loop_, kNews),
        workers_(static_cast<std::size_t>(job.workers())),
        bits_(static_cast<std::uint32_t>(ceil_log2(job.workers()))) {
    for (std::uint32_t w = 0; w < workers_.size(); ++w)
      for (std::uint32_t bit = 1; bit < workers_.size(); bit *= 2)
        exchange_.push_back(
            loop_.path(job.cluster.endpoint_of_rank[w], job.cluster.endpoint_of_rank[w ^ bit]));
  }

  double end_s() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) begin_step(w);
    std::uint64_t left = job_.stop.steps * workers_.size();
    for (BareEvent event; loop_.next(event);)
      if (happens(event) && --left == 0) break;
    return loop_.now_s();
  }

 private:
  enum Kind : std::uint32_t { kComputes, kComputed, kNews, kBegun, kMessage, kEnded };

  const Average& average(std::uint32_t number) const { return averages_[number % averages_.size()]; }

  // True: a worker has ended a step.
  bool happens(const BareEvent& event) {
    const std::uint32_t w = event.a;
    Averager& worker = workers_[w];
    if (event.kind == kComputes) {
      const double end_s = bare_computed_s(job_, event.time_s, worker.compute_s, worker.busy_until_s);
      loop_.at({end_s, kComputed, w});
    } else if (event.kind == kNews) {
      hear(w, event.b / 64, event.b % 64 + 1);
    } else if (event.kind == kBegun) {
      enter(w);
    } else if (event.kind == kMessage) {
      for (const std::uint32_t side : {w, event.b})
        if (--workers_[side].open == 0) workers_[side].left &= workers_[side].left - 1, enter(side);
    } else {
      if (event.kind == kComputed) {
        worker.came = true;
        if (average(worker.step - 1).blocks)
          begin(w);
        else if (worker.heard < worker.step)
          hear(w, worker.step - 1, 0);
      } else {
        worker.communicates = false;
        begin_next(w);
      }
      if (worker.came && worker.begun - (worker.communicates ? 1 : 0) >= worker.step) {
        begin_step(w);
        return true;
      }
    }
    return false;
  }

  void begin_step(std::uint32_t w) {
    Averager& worker = workers_[w];
    worker.came = false;
    if (worker.step++ == job_.stop.steps && job_.algorithm->needs_others()) return;
    const BareStep cost = bare_step(job_, w, worker.step);
    worker.compute_s = cost.work_s;
    loop_.at({loop_.now_s() + cost.delay_s, kComputes, w});
  }

  void hear(std::uint32_t w, std::uint32_t number, std::uint32_t phase) {
    news_.tell(w, number, phase);
    workers_[w].heard = std::max(workers_[w].heard, number + 1);
    begin_next(w);
  }

  void begin_next(std::uint32_t w) {
    if (!workers_[w].communicates && workers_[w].begun < workers_[w].heard) begin(w);
  }

  void begin(std::uint32_t w) {
    Averager& worker = workers_[w];
    const Average& next = average(worker.begun++);
    worker.communicates = true;
    worker.left = next.mask;
    worker.busy_until_s = std::max(worker.busy_until_s, loop_.now_s() + next.predicted_s);
    loop_.at({loop_.now_s() + next.before_s, kBegun, w});
  }

  // The exchange with the partner of the lowest bit, once both are there.
  void enter(std::uint32_t w) {
    Averager& worker = workers_[w];
    if (worker.left == 0) return loop_.at({loop_.now_s() + average(worker.begun - 1).after_s, kEnded, w});
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(worker.left));
    const std::uint32_t other = w ^ (1U << bit);
    worker.open = 2;
    Averager& partner = workers_[other];
    if (partner.begun != worker.begun || partner.left != worker.left || partner.open == 0) return;
    for (const auto& [from, to] : {std::pair{w, other}, {other, w}}) {
      const std::uint32_t way = exchange_[from * bits_ + bit];
      loop_.send(way, loop_.latency_s(way) + job_.cluster.host.message_s, {0, kMessage, from, to});
    }
  }

  const Job& job_;
  std::vector<Average> averages_;
  BareLoop loop_;
  BareNews news_;
  std::vector<Averager> workers_;
  std::uint32_t bits_;
  std::vector<std::uint32_t> exchange_;  // paths to the partners, by worker and bit
};

Average average_of(const Job& job, std::uint32_t mask, bool blocks) {
  std::vector<int> ranks;
  for (int rank = 0; rank < job.workers(); ++rank)
    if ((static_cast<std::uint32_t>(rank) & ~mask) == 0) ranks.push_back(rank);
  const Plan plan = plan_by_policy(job.network.collectives, job.cluster, ranks,
                                   {.bytes = job.workload.model_bytes(), .schedule = "recursive_doubling"});
  return {mask, blocks, plan.host_before_s(), plan.host_after_s(), predicted_s(plan)};
}

}  // namespace

double bare_wagma_s(const Job& job) {
  const auto bits = static_cast<std::uint32_t>(ceil_log2(job.workers())), group_bits = (bits + 1) / 2;
  constexpr std::uint32_t kPeriod = 10;
  std::vector<Average> averages;
  for (std::uint32_t t = 0; t < kPeriod * std::lcm(bits, group_bits); ++t) {
    std::uint32_t mask = 0;
    for (std::uint32_t phase = 0; phase < group_bits; ++phase) mask |= 1U << (t * group_bits + phase) % bits;
    const bool blocks = (t + 1) % kPeriod == 0;
    averages.push_back(average_of(job, blocks ? (1U << bits) - 1 : mask, blocks));
  }
  return WaitAvoidingRun(job, std::move(averages)).end_s();
}

double bare_eager_sgd_s(const Job& job) {
  return WaitAvoidingRun(job, {average_of(job, static_cast<std::uint32_t>(job.workers()) - 1, false)})
      .end_s();
}

}  // namespace simsgd::bench

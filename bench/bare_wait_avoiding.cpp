#include "bench/bare_wait_avoiding.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/collectives/schedule.hpp"

namespace simsgd::bench {

BareWaitAvoiding::BareWaitAvoiding(const Job& job, std::vector<BareAverage> averages)
    : job_(job),
      averages_(std::move(averages)),
      loop_(job.cluster.network, job.workload.model_bytes()),
      news_(job, loop_, kNews),
      workers_(static_cast<std::size_t>(job.workers())),
      bits_(static_cast<std::uint32_t>(ceil_log2(job.workers()))) {
  for (std::uint32_t w = 0; w < workers_.size(); ++w)
    for (std::uint32_t bit = 1; bit < workers_.size(); bit *= 2)
      exchange_.push_back(loop_.path(job.cluster.endpoint_of_rank[w], job.cluster.endpoint_of_rank[w ^ bit]));
}

double BareWaitAvoiding::end_s() {
  for (std::uint32_t w = 0; w < workers_.size(); ++w) begin_step(w);
  std::uint64_t left = job_.stop.steps * workers_.size();
  for (BareEvent event; loop_.next(event);)
    if (happens(event) && --left == 0) break;
  return loop_.now_s();
}

// True: a worker has ended a step.
bool BareWaitAvoiding::happens(const BareEvent& event) {
  const std::uint32_t w = event.a;
  Worker& worker = workers_[w];
  switch (event.kind) {
    case kComputes:
      loop_.at({bare_computed_s(job_, event.time_s, worker.compute_s, worker.busy_until_s), kComputed, w});
      return false;
    case kComputed:
      worker.came = true;
      if (average(worker.step - 1).blocks)
        begin(w);
      else if (worker.heard < worker.step)
        hear(w, worker.step - 1, 0);
      return ends_step(w);
    case kNews:
      hear(w, event.b / 64, event.b % 64 + 1);
      return false;
    case kBegun:
      enter(w);
      return false;
    case kMessage:
      for (const std::uint32_t side : {w, event.b})
        if (--workers_[side].open == 0) workers_[side].left &= workers_[side].left - 1, enter(side);
      return false;
    default:
      worker.communicates = false;
      begin_next(w);
      return ends_step(w);
  }
}

bool BareWaitAvoiding::ends_step(std::uint32_t w) {
  const Worker& worker = workers_[w];
  if (!worker.came || worker.begun - (worker.communicates ? 1 : 0) < worker.step) return false;
  begin_step(w);
  return true;
}

void BareWaitAvoiding::begin_step(std::uint32_t w) {
  Worker& worker = workers_[w];
  worker.came = false;
  if (worker.step++ == job_.stop.steps && job_.algorithm->needs_others()) return;
  const BareStep cost = bare_step(job_, w, worker.step);
  worker.compute_s = cost.work_s;
  loop_.at({loop_.now_s() + cost.delay_s, kComputes, w});
}

void BareWaitAvoiding::hear(std::uint32_t w, std::uint32_t number, std::uint32_t phase) {
  news_.tell(w, number, phase);
  workers_[w].heard = std::max(workers_[w].heard, number + 1);
  begin_next(w);
}

void BareWaitAvoiding::begin_next(std::uint32_t w) {
  if (!workers_[w].communicates && workers_[w].begun < workers_[w].heard) begin(w);
}

void BareWaitAvoiding::begin(std::uint32_t w) {
  Worker& worker = workers_[w];
  const BareAverage& next = average(worker.begun++);
  worker.communicates = true;
  worker.left = next.mask;
  worker.busy_until_s = std::max(worker.busy_until_s, loop_.now_s() + next.predicted_s);
  loop_.at({loop_.now_s() + next.before_s, kBegun, w});
}

// The exchange with the partner of the lowest bit, once both are there.
void BareWaitAvoiding::enter(std::uint32_t w) {
  Worker& worker = workers_[w];
  if (worker.left == 0) return loop_.at({loop_.now_s() + average(worker.begun - 1).after_s, kEnded, w});
  const auto bit = static_cast<std::uint32_t>(std::countr_zero(worker.left));
  const std::uint32_t other = w ^ (1U << bit);
  worker.open = 2;
  Worker& partner = workers_[other];
  if (partner.begun != worker.begun || partner.left != worker.left || partner.open == 0) return;
  for (const auto& [from, to] : {std::pair{w, other}, {other, w}}) {
    const std::uint32_t way = exchange_[from * bits_ + bit];
    loop_.send(way, loop_.latency_s(way) + job_.cluster.host.message_s, {0, kMessage, from, to});
  }
}

}  // namespace simsgd::bench

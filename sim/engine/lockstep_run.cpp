#include "sim/engine/lockstep_run.hpp"

#include <algorithm>
#include <numeric>

namespace simsgd {

namespace {

std::vector<AnyCollective> sums_of(const World& world) {
  std::vector<AnyCollective> sums;
  for (const AllReduce& sum : lockstep_of(*world.job.algorithm)->sums)
    world.negotiator.send_in_place(sums.emplace_back(sum));
  return sums;
}

}  // namespace

bool LockstepRun::can(World& world, const RunEnd& end) {
  const Job& job = world.job;
  const Lockstep* lockstep = lockstep_of(*job.algorithm);
  if (!lockstep || job.learner || end.in_time_order() || job.cluster.handover.blocking ||
      job.cluster.device.communication_share.value_or(1) < 1)
    return false;
  const std::vector<AnyCollective> sums = sums_of(world);
  return !sums.empty() && std::all_of(sums.begin(), sums.end(), [&world](const AnyCollective& sum) {
    return !world.negotiator.negotiates(sum) && world.collectives.is_recurrence(sum);
  });
}

LockstepRun::LockstepRun(World& world, const std::vector<std::unique_ptr<SimWorker>>& workers)
    : world_(world),
      workers_(workers),
      sums_(sums_of(world)),
      posted_s_(sums_.size(), std::vector<double>(workers.size())),
      order_(workers.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  options_.ready_at = lockstep_of(*world.job.algorithm)->ready_at;
  options_.gradient_ready = [this](const TensorInfo&, const Tensor&) { post(parts_posted_++); };
  channel_ = last_sum_.pending()->channel = world.negotiator.ledger_channel(sums_.back());
  for (const AnyCollective& sum : sums_) predicted_s_.push_back(world.collectives.predict(0, sum));
}

void LockstepRun::run() {
  while (workers_.front()->runs()) run_step();
}

// Each rank ends the step before and does its share of this one; what it posts last completes the sums.
void LockstepRun::run_step() {
  for (const std::size_t rank : order_) {
    SimWorker& worker = *workers_[rank];
    if (worker.step() > 0) {
      last_sum_.pending()->end_s = ends_s_[rank];
      worker.wait(last_sum_);
      worker.replica().apply({});
    }
    if (!worker.next_step()) {
      worker.ended();
      continue;
    }
    computing_ = &worker;
    parts_posted_ = 0;
    worker.compute().gradient(options_);
  }
  order_next_step();
}

void LockstepRun::post(std::size_t part) {
  const auto rank = static_cast<std::size_t>(computing_->rank());
  SimClock& clock = computing_->clock();
  if (clock.is_slowed_by_communication())
    clock.communicates(channel_, 0, predicted_s_[part], options_of(sums_[part]).traffic);
  posted_s_[part][rank] = clock.now();
  if (rank == order_.back()) world_.collectives.run_whole(sums_[part], posted_s_[part], ends_s_);
}

void LockstepRun::order_next_step() {
  const std::size_t last = order_.back();
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(last),
              order_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
}

}  // namespace simsgd

// The part of the simulated worker that crashes and comes back.
#include "sim/engine/sim_worker.hpp"

namespace simsgd {

void SimWorker::recover_by(Recovery recovery, std::function<void()> restarted) {
  if (!outages_) return;
  outages_->recover_by(recovery);
  restarted_ = std::move(restarted);
}

// Time of a gradient on this worker, from the delay before it on.
double SimWorker::seconds_of(const ComputeOptions& options, const StepCost& cost) const {
  const double nominal_s = world_.job.workload.micro_batches * (world_.forward_s + world_.backward_s);
  return cost.delay_s + nominal_s * cost.scale * cost.straggle / options.parts;
}

// A gradient that takes `seconds` is about to be computed: what hits it comes before it.
void SimWorker::live_through(double seconds) {
  for (const Outages::Outage& outage : outages_->during(local_s_, seconds)) pass(outage);
  outages_->computed(seconds);
}

// The main thread is at most at the end of the outage, and is there afterwards.
void SimWorker::pass(const Outages::Outage& outage) {
  const double from = local_s_;
  if (outage.ready_s > local_s_) {
    ledger_.book(Activity::straggle, outage.ready_s - local_s_);
    local_s_ = outage.ready_s;
  }
  world_.timeline.compute(rank_, "crash", from, local_s_);
  crash(outage);
  if (serves_) settle();
}

void SimWorker::crash(const Outages::Outage& outage) {
  outages_->record(outage);
  if (outages_->recovery() == Recovery::rejoin) state_ = checkpoint_;
  if (restarted_) restarted_();
}

// At the end of a step, where one is due.
void SimWorker::write_checkpoint() {
  outages_->step_ended();
  const FailureModel& failures = world_.job.failures;
  if (step_ % failures.checkpoint_every != 0) return;
  if (failures.checkpoint_s > 0) spend(Activity::straggle, failures.checkpoint_s);
  checkpoint_ = state_;
  outages_->checkpoint();
}

}  // namespace simsgd

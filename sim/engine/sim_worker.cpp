#include "sim/engine/sim_worker.hpp"

#include <cmath>
#include <utility>

#include "sim/base/instants.hpp"

namespace simsgd {

SimWorker::SimWorker(int rank, World& world, Steps& steps, const Tensor& initial_model,
                     const std::vector<SimBackground*>& backgrounds)
    : Worker(world.job, rank, world.executor),
      world_(world),
      steps_(steps),
      clock_(rank, world.job, world.fibers, world.transport, world.interference, world.ledgers.of(rank),
             world.beside_ledgers),
      replica_(world.executor, world.job.optimizer, initial_model,
               [this](const Tensor& parameters, double share) { compute_.update(parameters, share); }),
      compute_(world.job, world.times, rank, world.executor, clock_, replica_, world.observers),
      messages_(rank, world, clock_),
      collectives_(rank, world, clock_),
      recorder_(rank, world.observers),
      background_(rank, world, clock_, backgrounds),
      preemption_(world, clock_, compute_, replica_) {
  completed_.model = initial_model;
  compose({&replica_, &compute_, &messages_, &collectives_, &recorder_, &background_, &preemption_});
}

bool SimWorker::next_step() {
  compute_.finish_step();
  clock_.begin_held();
  world_.transport.check_instant(clock_.local());
  if (steps_.end.in_time_order()) clock_.settle();
  if (step_ > 0) end_step();
  if (steps_.end.has_all(step_)) return false;
  at_end_ = steps_.end.is_over(clock_.local());
  while (at_end_) clock_.block();  // until the run is taken down, at this instant
  ++step_;
  compute_.begin_step(step_);
  step_begin_s_ = clock_.local();
  world_.observers.tell(Topic::steps, &Observer::step_began, rank(), step_, step_begin_s_);
  return true;
}

std::optional<Crashes::Totals> SimWorker::crash_totals(double over_s) {
  if (!compute_.crashes()) return std::nullopt;
  preemption_.record_outages_until(over_s);
  return compute_.crashes()->totals(over_s);
}

void SimWorker::end_step() {
  completed_ = {step_, replica_.parameters()};
  const double now_s = clock_.local();
  world_.observers.tell(Topic::steps, &Observer::step_ended,
                        StepEnd{rank(), step_, step_begin_s_, now_s, replica_.parameters()});
  if (rank() == 0 && steps_.progress) steps_.progress(step_);
  steps_.end.completed(compute_.step_samples(), now_s);
  if (!world_.job.target.stop) return;
  if (const std::optional<double> met_s = steps_.target_met_s()) steps_.end.end(*met_s);
}

namespace {
constexpr double kRounding = 1 - 1e-9;  // sums of samples may miss a bound by rounding
}

RunEnd::RunEnd(const Job& job, std::function<void(double)> over)
    : job_(job),
      over_(std::move(over)),
      alone_(!job.algorithm->needs_others()),
      in_time_order_(alone_ || std::isfinite(job.stop.time_s) || std::isfinite(job.stop.samples) ||
                     job.target.stop || job.record.evaluate_every_s > 0) {}

bool RunEnd::is_over(double now_s) const { return over_s_ || !before(now_s, job_.stop.time_s); }

void RunEnd::completed(double samples, double now_s) {
  completed_steps_ += 1;
  completed_samples_ += samples;
  const double most_steps = static_cast<double>(job_.stop.steps) * job_.workers();
  if ((alone_ && completed_steps_ >= most_steps) || completed_samples_ >= job_.stop.samples * kRounding)
    end(now_s);
}

void RunEnd::end(double at_s) {
  if (over_s_) return;
  over_s_ = at_s;
  over_(at_s);
}

}  // namespace simsgd

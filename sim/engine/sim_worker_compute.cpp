// The part of the simulated worker that computes: gradients, layer by layer where somebody asks, and the tail
// of a backward pass that goes on beside what follows it.
#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/engine/sim_worker.hpp"
#include "sim/learn/factors.hpp"

namespace simsgd {

// Of the next of the parts that this step is computed in.
StepCost SimWorker::cost_of_mini_batch(int parts) {
  const double nominal_step_s = world_.job.workload.micro_batches * (world_.forward_s + world_.backward_s);
  return step_cost(
      world_.job,
      {.rank = rank_, .step = step_, .index = mini_batches_++, .of = static_cast<std::uint32_t>(parts)},
      nominal_step_s);
}

// Advances the clock by `seconds` of computing, and by what communication beside it adds, which is booked;
// returns the rest of the time.
double SimWorker::work(double seconds) {
  const double from = local_s_;
  if (!slowdown_.felt_at(from)) {
    local_s_ += seconds;
    return local_s_ - from;
  }
  double added = 0;
  local_s_ = slowdown_.end_of(from, seconds, [&](Traffic traffic, double more_s) {
    ledger_.slowed(traffic, more_s);
    added += more_s;
  });
  return local_s_ - from - added;
}

// Advances the clock by a stretch of computing; what stragglers add to its nominal time is booked apart.
void SimWorker::compute(double nominal_s, const StepCost& cost) {
  const double spent = work(nominal_s * cost.scale * cost.straggle);
  const double nominal = cost.straggle > 1 ? std::min(spent, nominal_s * cost.scale) : spent;
  ledger_.book(Activity::compute, nominal);
  if (spent > nominal) ledger_.book(Activity::straggle, spent - nominal);
}

// Layer by layer, where somebody wants to know; the last micro-batch only.
void SimWorker::compute_forward(const ComputeOptions& options, const StepCost& cost) {
  const Workload& workload = world_.job.workload;
  const double from = local_s_;
  if (options.before_forward) {
    for (std::size_t layer = 0; layer < workload.layers.size(); ++layer) {
      options.before_forward(static_cast<int>(layer));
      compute(workload.layers[layer].forward_s, cost);
    }
  } else {
    compute(world_.forward_s, cost);
  }
  world_.timeline.compute(rank_, "forward", from, local_s_);
}

void SimWorker::compute_backward(const ComputeOptions& options, const StepCost& cost,
                                 const Values& gradient) {
  const double from = local_s_;
  const double slow = cost.scale * cost.straggle;
  const double overlap_s = std::min(world_.job.cluster.host.overlap_s, world_.backward_s * slow);
  const double stop_s = world_.backward_s - overlap_s / slow;  // nominal: where what follows begins
  double done_s = 0;                                           // nominal
  if (options.gradient_ready) {
    const std::size_t calls = options.ready_at.empty() ? world_.tensors.size() : options.ready_at.size();
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t place = options.ready_at.empty() ? call : options.ready_at[call];
      const double ready_s = std::min(world_.tensor_ready_s[place], stop_s);
      compute(ready_s - done_s, cost);
      done_s = ready_s;
      options.gradient_ready(world_.tensors[place], gradient);
    }
  }
  compute(stop_s - done_s, cost);
  backward_end_s_ = local_s_ + overlap_s;
  backward_straggle_share_ = cost.straggle > 1 ? 1 - 1 / cost.straggle : 0;
  world_.timeline.compute(rank_, "backward", from, backward_end_s_);
}

// Nothing else is left to do until the backward pass is through.
void SimWorker::finish_backward() {
  if (backward_end_s_ <= local_s_) return;
  book_tail(local_s_, backward_end_s_);
  local_s_ = backward_end_s_;
  if (serves_) settle();
}

// Books what the end of the backward pass did in [from_s, to_s]; returns where its time ended.
double SimWorker::book_tail(double from_s, double to_s) {
  const double end = std::min(to_s, backward_end_s_);
  if (end <= from_s) return from_s;
  const double straggle = (end - from_s) * backward_straggle_share_;
  ledger_.book(Activity::straggle, straggle);
  ledger_.book(Activity::compute, end - from_s - straggle);
  return end;
}

Values SimWorker::submit_gradient(const ComputeOptions& options, const Values& model) {
  const Learner* learner = world_.job.learner.get();
  if (!learner) {
    if (options.factors) options.factors({});
    return {};
  }
  const std::uint64_t step = options.batch > 0 ? options.batch : step_;
  if (options.factors) {
    GradientAndFactors both = submit_gradient_and_factors(
        world_.executor, *learner, model,
        {.rank = rank_, .step = step, .part = options.part, .parts = options.parts});
    options.factors(both.factors);
    return both.gradient;
  }
  const int rank = rank_, part = options.part, parts = options.parts;
  Values gradient = world_.executor.submit({model}, [=](Tensor& out, auto in) {
    out.values.resize(in[0]->values.size());
    out.scalars = {learner->gradient(in[0]->values, learner->samples(rank, step, part, parts), out.values)};
  });
  return gradient;
}

Values SimWorker::compute_gradient(const ComputeOptions& options) {
  const Workload& workload = world_.job.workload;
  finish_backward();
  const StepCost cost = cost_of_mini_batch(options.parts);
  if (outages_) live_through(seconds_of(options, cost));
  Values gradient = submit_gradient(options, state_.parameters);
  world_.curve.loss(rank_, step_, gradient);
  use_samples(1.0 / options.parts);
  if (cost.delay_s > 0) spend(Activity::straggle, cost.delay_s);
  StepCost part = cost;
  part.scale /= options.parts;
  const double earlier_s = (workload.micro_batches - 1) * (world_.forward_s + world_.backward_s);
  const double from = local_s_;
  compute(earlier_s, part);
  world_.timeline.compute(rank_, "micro-batches", from, local_s_);
  compute_forward(options, part);
  compute_backward(options, part, gradient);
  if (serves_) settle();
  return gradient;
}

Handle SimWorker::start_gradient(const ComputeOptions& options) {
  CHECK(!running_.pending, "a worker computes one gradient at a time");
  finish_backward();
  settle();
  const StepCost cost = cost_of_mini_batch(options.parts);
  running_.pending = std::make_shared<SimPending>();
  running_.seconds = seconds_of(options, cost);
  running_.start_s = running_.compute_s = local_s_;
  if (outages_) running_.outages = outages_->during(local_s_, running_.seconds);
  const bool goes_back = !running_.outages.empty() && outages_->recovery() == Recovery::rejoin;
  running_.pending->result = submit_gradient(options, goes_back ? checkpoint_.parameters : state_.parameters);
  if (!running_.outages.empty()) running_.compute_s = running_.outages.back().ready_s;
  running_.compute_s += cost.delay_s;
  running_.straggle_share = cost.straggle > 1 ? 1 - 1 / cost.straggle : 0;
  running_.options = options;
  running_.pending->complete(running_.compute_s + running_.seconds - cost.delay_s);
  return running_.pending;
}

void SimWorker::cancel(const Handle& gradient) {
  CHECK(running_.pending && gradient == running_.pending, "only a running gradient can be cancelled");
  settle();
  const std::vector<Outages::Outage> outages = std::move(running_.outages);
  running_ = {};
  for (const Outages::Outage& outage : outages) {
    if (outage.crash_s > local_s_) break;
    pass(outage);
  }
}

void SimWorker::apply(const Values& gradient) {
  if (!gradient) return;
  state_ = world_.job.optimizer.step(world_.executor, step_, state_, gradient);
}

}  // namespace simsgd

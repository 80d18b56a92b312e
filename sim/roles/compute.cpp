#include "sim/roles/compute.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/job.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/observer.hpp"
#include "sim/record.hpp"

namespace simsgd {

StepCost step_cost(const Job& job, const StepPart& part, double nominal_step_s) {
  StepCost cost;
  cost.scale = 1.0 / job.cluster.speed_of_rank(part.rank);
  const Distribution& factor = job.workload.compute_factor;
  if (factor.kind != Distribution::Kind::constant) {
    Stream draws({job.seed, Purpose::compute_time, static_cast<std::uint32_t>(part.rank), part.step});
    cost.scale *= factor.draw(draws);
  } else {
    cost.scale *= factor.quantile(0.5);
  }
  if (job.stragglers.empty()) return cost;
  const Straggle straggle = job.stragglers.at({.seed = job.seed,
                                               .rank = part.rank,
                                               .workers = job.workers(),
                                               .step = part.step,
                                               .nominal_compute_s = nominal_step_s * cost.scale,
                                               .micro_batch = part.index,
                                               .micro_batches = part.of});
  cost.delay_s = straggle.delay_s;
  cost.straggle = straggle.factor;
  return cost;
}

double update_s(const Device& device, const OptimizerSpec& optimizer, double parameters) {
  constexpr double kIncluded_bytes = 20;  // momentum: read g, w, u; write w, u
  constexpr double kNorm_bytes = 4;       // read g
  if (!device.vector_pass.efficiency.known() || !(device.memory_Bps > 0)) return 0;
  const UpdateBytes update = optimizer.rule->bytes_per_parameter();
  const double bytes = update.read + update.written + (optimizer.clip_norm > 0 ? kNorm_bytes : 0);
  return std::max(0.0, bytes - kIncluded_bytes) * parameters / device.vector_Bps();
}

namespace {

/// Of an update that multiplies matrices: those of all layers that have a product, but the last one.
double products_s(const Job& job) {
  const auto* rule = dynamic_cast<const MatrixRule*>(job.optimizer.rule.get());
  if (rule == nullptr || !(job.cluster.device.peak_flops > 0)) return 0;
  double seconds = 0, last_s = 0;
  for (const Layer& layer : job.workload.layers) {
    if (layer.kind != Layer::Kind::fc && layer.kind != Layer::Kind::conv) continue;
    last_s = 0;
    for (const TensorShape& tensor : layer.tensors)
      for (const MatrixProduct& each :
           tensor.is_matrix() ? rule->products(tensor.rows, tensor.columns) : std::vector<MatrixProduct>())
        last_s += gemm_s(job.cluster.device, {.m = each.m, .n = each.n, .k = each.k});
    seconds += last_s;
  }
  return seconds - last_s;
}

}  // namespace

struct Compute::Pass {
  const GradientOptions& options;
  double scale = 1;     // of the layers' times
  double straggle = 1;  // and on top of it
};

Compute::Compute(const Job& job, const PassTimes& times, int rank, Executor& executor, Machine& machine,
                 Replica& replica, Observers& observers)
    : job_(job),
      rank_(rank),
      executor_(executor),
      machine_(machine),
      replica_(replica),
      observers_(observers),
      times_(times),
      slower_(1 / job.cluster.speed_of_rank(rank)),
      update_s_(update_s(job.cluster.device, job.optimizer, job.workload.parameters()) + products_s(job)),
      checkpoint_(replica.state()) {
  if (job.failures.any()) crashes_ = std::make_unique<Crashes>(job.failures, job.seed, rank);
}

// Steps
// ---------------------------------------------------------------------------------------------------------

void Compute::begin_step(std::uint64_t step) {
  step_ = step;
  step_samples_ = 0;
  micro_batches_begun_ = 0;
  if (crashes_) crashes_->step_began();
  replica_.begin_step(step);
}

void Compute::finish_step() {
  machine_.finish_beside();
  if (!crashes_ || step_ == 0) return;
  crashes_->step_ended();
  const FailureModel& failures = job_.failures;
  if (step_ % failures.checkpoint_every != 0) return;
  if (failures.checkpoint_s > 0) spend(Activity::straggle, failures.checkpoint_s);
  checkpoint_ = replica_.state();
  crashes_->checkpoint();
}

// Costs
// ---------------------------------------------------------------------------------------------------------

StepCost Compute::next_cost(int micro_batches) {
  return step_cost(job_,
                   {.rank = rank_,
                    .step = step_,
                    .index = micro_batches_begun_++,
                    .of = static_cast<std::uint32_t>(micro_batches)},
                   job_.workload.micro_batches * (times_.forward_s + times_.backward_s));
}

double Compute::seconds_of(const MicroBatch& part, const StepCost& cost) const {
  const double nominal_s = job_.workload.micro_batches * (times_.forward_s + times_.backward_s);
  return cost.delay_s + nominal_s * cost.scale * cost.straggle / job_.workload.parts_per_step(part.count);
}

void Compute::spend(Activity activity, double seconds, const char* label) {
  CHECK(seconds >= 0, "time was to be spent backwards");
  machine_.finish_beside();
  if (crashes_ && occupies_device(activity)) crashes_->computed(seconds);
  machine_.spend(activity, seconds, label ? label : activities()[static_cast<std::size_t>(activity)].name);
}

void Compute::spend_on(Activity activity, double seconds, const Tensor& result, const char* label) {
  if (machine_.evaluates() && result)
    machine_.evaluate(result, activity, 1);
  else
    spend(activity, seconds, label);
}

void Compute::update(const Tensor& parameters, double share) {
  if (machine_.evaluates() && parameters)
    machine_.evaluate(parameters, Activity::compute, 1);
  else if (update_s_ > 0)
    spend(Activity::compute, update_s_ * share * slower_, "optimizer");
}

// Failures
// ---------------------------------------------------------------------------------------------------------

void Compute::recover_by(Recovery recovery, std::function<void()> restarted) {
  if (!crashes_) return;
  crashes_->recover_by(recovery);
  restarted_ = std::move(restarted);
}

void Compute::restart(const Crashes::Outage& outage) {
  crashes_->record(outage);
  if (crashes_->recovery() == Recovery::rejoin) replica_.restore(checkpoint_);
  if (restarted_) restarted_();
}

// A gradient that takes `seconds` is about to be computed: what hits it comes before it.
void Compute::live_through(double seconds) {
  for (const Crashes::Outage& outage : crashes_->during(machine_.now(), seconds))
    machine_.outage(outage.ready_s, [&] { restart(outage); });
  crashes_->computed(seconds);
}

// Gradients
// ---------------------------------------------------------------------------------------------------------

Tensor Compute::submit(const GradientOptions& options, const Tensor& parameters) {
  const Learner* learner = job_.learner.get();
  const BatchOf batch{options.part.rank < 0 ? rank_ : options.part.rank,
                      options.batch > 0 ? options.batch : step_, options.part};
  if (!options.statistics)
    return learner ? submit_gradient(executor_, *learner, parameters, batch) : Tensor{};
  if (!learner) {
    options.take_statistics({});
    return {};
  }
  const GradientAndStatistics both =
      submit_gradient(executor_, *learner, parameters, batch, options.statistics);
  options.take_statistics(both.statistics);
  return both.gradient;
}

void Compute::use(const MicroBatch& part, const Tensor& gradient) {
  if (part.rank >= 0 && part.rank != rank_) return;
  const double samples = 1.0 / part.count * job_.workload.batch;
  step_samples_ += samples;
  observers_.tell(Topic::steps, &Observer::gradient_used, rank_, step_, gradient, samples);
}

Tensor Compute::gradient(const GradientOptions& options) {
  machine_.finish_beside();
  const StepCost cost = next_cost(options.part.count);
  if (crashes_) live_through(seconds_of(options.part, cost));
  Tensor gradient;
  const auto differentiate = [&](const Tensor& parameters) {
    gradient = submit(options, parameters);
    use(options.part, gradient);
  };
  if (!options.parameters) differentiate(replica_.parameters());
  if (cost.delay_s > 0) spend(Activity::straggle, cost.delay_s);
  const Pass pass{options, cost.scale / job_.workload.parts_per_step(options.part.count), cost.straggle};
  const int last = job_.workload.micro_batches - 1;
  const bool by_layer =
      options.before_forward || options.after_forward || options.before_backward || options.after_backward;
  const bool one_by_one = by_layer || options.parameters;
  const int first = one_by_one ? 0 : last;
  const double from_s = machine_.now();
  compute(pass, one_by_one ? 0 : last * (times_.forward_s + times_.backward_s));
  for (int micro_batch = first; micro_batch <= last; ++micro_batch) {
    if (micro_batch == last)
      observers_.tell(Topic::drawing, &Observer::span, rank_, "micro-batches", from_s, machine_.now());
    forward(pass, micro_batch);
    if (micro_batch == first && options.parameters) differentiate(options.parameters());
    if (micro_batch == first && evaluates()) machine_.evaluate(gradient, Activity::compute, cost.straggle);
    micro_batch < last ? backward(pass, micro_batch) : last_backward(pass, gradient);
  }
  machine_.gradient_computed();
  machine_.catch_up();
  return gradient;
}

bool Compute::evaluates() const { return job_.learner != nullptr && machine_.evaluates(); }

// Advances the clock by nominal seconds of computing, unless it goes by itself.
void Compute::compute(const Pass& pass, double nominal_s) {
  if (!evaluates()) machine_.compute(nominal_s * pass.scale, pass.straggle);
}

// Layer by layer, where somebody wants to know.
void Compute::forward(const Pass& pass, int micro_batch) {
  const GradientOptions& options = pass.options;
  const std::vector<Layer>& layers = job_.workload.layers;
  const double from_s = machine_.now();
  const bool last = micro_batch == job_.workload.micro_batches - 1;
  if (options.before_forward || options.after_forward) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const LayerPass here{static_cast<int>(layer), micro_batch, last};
      if (options.before_forward) options.before_forward(here);
      compute(pass, layers[layer].forward_s);
      if (options.after_forward) options.after_forward(here);
    }
  } else {
    compute(pass, times_.forward_s);
  }
  if (last) observers_.tell(Topic::drawing, &Observer::span, rank_, "forward", from_s, machine_.now());
}

// Of a micro-batch that is not the last one.
void Compute::backward(const Pass& pass, int micro_batch) {
  const GradientOptions& options = pass.options;
  const std::vector<Layer>& layers = job_.workload.layers;
  if (!options.before_backward && !options.after_backward) return compute(pass, times_.backward_s);
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    const LayerPass here{static_cast<int>(layer), micro_batch, false};
    if (options.before_backward) options.before_backward(here);
    compute(pass, layers[layer].backward_s);
    if (options.after_backward) options.after_backward(here);
  }
}

// What follows may begin before its end.
void Compute::last_backward(const Pass& pass, const Tensor& gradient) {
  const GradientOptions& options = pass.options;
  const double from_s = machine_.now();
  const double slow = pass.scale * pass.straggle;
  const double beside_s = evaluates() ? 0 : std::min(machine_.backward_overlap_s(), times_.backward_s * slow);
  const double stop_s = times_.backward_s - beside_s / slow;  // nominal: where what follows begins
  double done_s = 0;                                          // nominal
  const auto compute_to = [&](double until_s) {
    compute(pass, std::min(until_s, stop_s) - done_s);
    done_s = std::min(until_s, stop_s);
  };
  std::size_t next = 0;  // of the tensors that are asked for
  const std::size_t calls = !options.gradient_ready    ? 0
                            : options.ready_at.empty() ? times_.tensors.size()
                                                       : options.ready_at.size();
  const auto position = [&] { return options.ready_at.empty() ? next : options.ready_at[next]; };
  const auto tell_until = [&](int layer) {
    for (; next < calls && times_.tensors[position()].layer >= layer; ++next) {
      compute_to(times_.tensor_ready_s[position()]);
      options.gradient_ready(times_.tensors[position()], gradient);
    }
  };
  if (options.before_backward || options.after_backward) {
    double layer_end_s = 0;
    for (int layer = static_cast<int>(job_.workload.layers.size()) - 1; layer >= 0; --layer) {
      const LayerPass here{layer, job_.workload.micro_batches - 1, true};
      if (options.before_backward) options.before_backward(here);
      layer_end_s += job_.workload.layers[static_cast<std::size_t>(layer)].backward_s;
      compute_to(layer_end_s);
      tell_until(layer);
      if (options.after_backward) options.after_backward(here);
    }
  } else {
    tell_until(0);
  }
  compute_to(stop_s);
  machine_.compute_beside(beside_s, pass.straggle);
  observers_.tell(Topic::drawing, &Observer::span, rank_, "backward", from_s, machine_.now() + beside_s);
}

}  // namespace simsgd

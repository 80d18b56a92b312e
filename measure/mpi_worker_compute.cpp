// Computing: for real with a learner, by sleeping without one.
#include <algorithm>

#include "measure/mpi_worker.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {
// How often a sleeping rank looks after what it has under way.
constexpr double kLookEvery_s = 100e-6;

bool is_asked_for(const ComputeOptions& options, std::size_t place) {
  return options.ready_at.empty() ||
         std::binary_search(options.ready_at.begin(), options.ready_at.end(), place);
}
}  // namespace

void MpiWorker::sleep_until(double time_s) {
  for (double left_s = 0; (left_s = time_s - clock_.now()) > 0;) {
    if (!idle()) progress();
    nap(idle() ? left_s : std::min(left_s, kLookEvery_s));
  }
}

void MpiWorker::spend(Activity activity, double seconds) {
  CHECK(seconds >= 0, "time was to be spent backwards");
  book(Activity::host);
  sleep_until(booked_s_ + seconds);
  book(activity);
}

Values MpiWorker::compute_gradient(const ComputeOptions& options) {
  StepCost cost = step_cost(job_,
                            {.rank = rank_,
                             .step = step_,
                             .index = mini_batches_++,
                             .of = static_cast<std::uint32_t>(options.parts)},
                            job_.workload.step_compute_s());
  if (cost.delay_s > 0) spend(Activity::straggle, cost.delay_s);
  if (job_.learner) return learn(options, cost.straggle);
  ledger_.used_samples(static_cast<double>(job_.workload.batch) / options.parts);
  cost.scale /= options.parts;
  sleep_through(options, cost);
  return {};
}

Values MpiWorker::learn(const ComputeOptions& options, double straggle) {
  const Learner* learner = job_.learner.get();
  const Values parameters = state_.parameters;
  if (options.before_forward)
    for (std::size_t layer = 0; layer < job_.workload.layers.size(); ++layer)
      options.before_forward(static_cast<int>(layer));
  book(Activity::host);
  const double begin_s = booked_s_;
  const std::vector<std::int32_t> samples = learner->samples(rank_, step_, options.part, options.parts);
  const Values gradient = executor_.submit({parameters}, [&](Tensor& out, auto in) {
    out.values.resize(in[0]->values.size());
    out.scalars = {learner->gradient(in[0]->values, samples, out.values)};
  });
  const double loss = executor_.get(gradient).scalars.front();
  book(Activity::compute);
  ledger_.used_samples(static_cast<double>(samples.size()));
  if (straggle > 1) spend(Activity::straggle, (booked_s_ - begin_s) * (straggle - 1));
  curve_.loss(step_, loss);
  const std::vector<TensorInfo> tensors = job_.workload.tensors();
  for (std::size_t place = 0; options.gradient_ready && place < tensors.size(); ++place)
    if (is_asked_for(options, place)) options.gradient_ready(tensors[place], gradient);
  return gradient;
}

// Sleeps through `nominal_s` of computing that ends at `end_s`, which does not move where a nap was too long:
// the next one is shorter.
void MpiWorker::sleep_to(double& end_s, double nominal_s, const StepCost& cost) {
  book(Activity::host);
  end_s += nominal_s * cost.scale * cost.straggle;
  sleep_until(end_s);
  const double from_s = booked_s_;
  booked_s_ = clock_.now();
  const double straggle_s = cost.straggle > 1 ? (booked_s_ - from_s) * (1 - 1 / cost.straggle) : 0;
  ledger_.book(Activity::compute, booked_s_ - from_s - straggle_s);
  ledger_.book(Activity::straggle, straggle_s);
}

// The device stands still while a callback runs.
void MpiWorker::call_back(double& end_s, const std::function<void()>& call) {
  const double from_s = clock_.now();
  call();
  end_s += clock_.now() - from_s;
}

void MpiWorker::sleep_through(const ComputeOptions& options, const StepCost& cost) {
  const Workload& workload = job_.workload;
  book(Activity::host);
  double end_s = booked_s_;
  sleep_to(end_s, (workload.micro_batches - 1) * (workload.forward_s() + workload.backward_s()), cost);
  for (std::size_t layer = 0; options.before_forward && layer < workload.layers.size(); ++layer) {
    call_back(end_s, [&] { options.before_forward(static_cast<int>(layer)); });
    sleep_to(end_s, workload.layers[layer].forward_s, cost);
  }
  if (!options.before_forward) sleep_to(end_s, workload.forward_s(), cost);
  const std::vector<TensorInfo> tensors = workload.tensors();
  std::size_t place = 0;
  for (int layer = static_cast<int>(workload.layers.size()) - 1; layer >= 0; --layer) {
    sleep_to(end_s, workload.layers[static_cast<std::size_t>(layer)].backward_s, cost);
    for (; place < tensors.size() && tensors[place].layer == layer; ++place)
      if (options.gradient_ready && is_asked_for(options, place))
        call_back(end_s, [&] { options.gradient_ready(tensors[place], {}); });
  }
}

}  // namespace simsgd

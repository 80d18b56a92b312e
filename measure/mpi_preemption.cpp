#include "measure/mpi_preemption.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

// As submit_gradient, but computing stops after the layer that it is in once `given_up` is true: the result
// is of no use then. Mini-batches are cut into pieces by layers, not by samples, so that every value is the
// simulation's. `given_up` is shared with the executor's work; `learner` must outlive that.
Tensor submit_interruptible(Executor& executor, const Learner& learner, const Tensor& parameters,
                            const BatchOf& batch, std::shared_ptr<const std::atomic<bool>> given_up) {
  return executor.submit(
      {parameters}, [&learner, batch, given_up = std::move(given_up)](TensorData& out, auto in) {
        out.values.resize(in[0]->values.size());
        out.scalars = {0};
        if (*given_up) return;
        Batch<float> samples = learner.train_set().batch<float>(
            learner.samples(batch.rank, batch.step, batch.part.index, batch.part.count));
        samples.given_up = given_up.get();
        out.scalars = {static_cast<double>(
            learner.model().loss_and_gradient(in[0]->values, samples, out.values, nullptr))};
      });
}

}  // namespace

Handle<RunningGradient> MpiPreemption::start(const GradientOptions& options) {
  CHECK(!running_, "a worker computes one gradient at a time");
  of_.clock.book(Activity::host);
  cost_ = of_.compute.next_cost(options.part.count);
  seconds_ = of_.compute.seconds_of(options.part, cost_);
  const Crashes* crashes = of_.compute.crashes();
  outages_ = crashes ? crashes->during(of_.clock.now(), seconds_) : std::vector<Crashes::Outage>();
  const bool goes_back = !outages_.empty() && crashes->recovery() == Recovery::rejoin;
  parameters_ = goes_back ? of_.compute.checkpoint().parameters : of_.replica.parameters();
  batch_ = {of_.rank, options.batch > 0 ? options.batch : of_.step, options.part};
  begin_s_ = (outages_.empty() ? of_.clock.now() : outages_.back().ready_s) + cost_.delay_s;
  running_ = Handle<RunningGradient>::make();
  running_.pending()->what = "a gradient of its own";
  begun_ = false;
  given_up_ = std::make_shared<std::atomic<bool>>(false);
  of_.clock.works_on({begin_s_, Pending::kUnknown, cost_.straggle > 1 ? 1 - 1 / cost_.straggle : 0});
  progress();
  return running_;
}

void MpiPreemption::compute() {
  begun_ = true;
  if (of_.clock.evaluates()) begin_s_ = of_.clock.now();
  if (of_.job.learner)
    running_.pending()->result.gradient =
        submit_interruptible(of_.executor, *of_.job.learner, parameters_, batch_, given_up_);
}

// It takes what the workload says or, where values take their own time, that, stretched by stragglers.
void MpiPreemption::progress() {
  if (idle()) return;
  const double now_s = of_.clock.now();
  if (!begun_ && now_s >= begin_s_) compute();
  if (!begun_) return;
  PendingOf<RunningGradient>& pending = *running_.pending();
  if (pending.result.gradient && !of_.executor.ready(pending.result.gradient)) return;
  if (end_s_ == Pending::kUnknown)
    end_s_ = of_.clock.evaluates() ? now_s + (now_s - begin_s_) * std::max(0.0, cost_.straggle - 1)
                                   : begin_s_ + seconds_ - cost_.delay_s;
  if (now_s < end_s_) return;
  of_.clock.works_on({begin_s_, now_s, cost_.straggle > 1 ? 1 - 1 / cost_.straggle : 0});
  pending.complete(now_s);
}

void MpiPreemption::stop() {
  of_.clock.works_on({});
  running_ = {};
  parameters_ = {};
  end_s_ = Pending::kUnknown;
}

void MpiPreemption::cancel(const Handle<RunningGradient>& gradient) {
  CHECK(running_ && gradient == running_, "only a running gradient can be cancelled");
  *given_up_ = true;
  stop();
  for (const Crashes::Outage& outage : std::exchange(outages_, {})) {
    if (outage.crash_s > of_.clock.now()) break;
    of_.clock.outage(outage.ready_s, [&] { of_.compute.restart(outage); });
  }
}

Tensor MpiPreemption::take(const Handle<RunningGradient>& gradient) {
  CHECK(running_ && gradient == running_, "a gradient that is not this worker's");
  Tensor result = gradient.result().gradient;
  const MicroBatch part = batch_.part;
  stop();
  of_.compute.use(part, result);
  for (const Crashes::Outage& outage : std::exchange(outages_, {})) of_.compute.restart(outage);
  if (of_.compute.crashes()) of_.compute.crashes()->computed(seconds_);
  return result;
}

}  // namespace simsgd

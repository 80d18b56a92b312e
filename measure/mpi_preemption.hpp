// Gradients that can be given up, for real: the executor's thread computes one while the main thread waits.
// A gradient in progress is given up between two layers, so that the next one
// need not wait for the rest of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "measure/mpi_clock.hpp"
#include "measure/mpi_progress.hpp"
#include "sim/base/check.hpp"
#include "sim/learn/gradient.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"
#include "sim/roles/compute.hpp"

namespace simsgd {

// As submit_gradient, but computing stops after the layer that it is in once `given_up` is true: the result
// is of no use then. Mini-batches are cut into pieces by layers, not by samples, so that every value is the
// simulation's. `given_up` is shared with the executor's work; `learner` must outlive that.
inline Tensor submit_interruptible(Executor& executor, const Learner& learner, const Tensor& parameters,
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

class MpiPreemption final : public Preemption, public MpiProgress::Part {
 public:
  /// `step`: of the worker.
  MpiPreemption(const RealRank& self, MpiClock& clock, Compute& compute, Replica& replica,
                const std::uint64_t& step)
      : of_(self), clock_(clock), compute_(compute), replica_(replica), step_(step) {}

  Handle<RunningGradient> start(const GradientOptions& options) override {
    CHECK(!running_, "a worker computes one gradient at a time");
    clock_.book(Activity::host);
    cost_ = compute_.next_cost(options.part.count);
    seconds_ = compute_.seconds_of(options.part, cost_);
    const Crashes* crashes = compute_.crashes();
    outages_ = crashes ? crashes->during(clock_.now(), seconds_) : std::vector<Crashes::Outage>();
    const bool goes_back = !outages_.empty() && crashes->recovery() == Recovery::rejoin;
    parameters_ = goes_back ? compute_.checkpoint().parameters : replica_.parameters();
    batch_ = {options.part.rank < 0 ? of_.rank : options.part.rank, options.batch > 0 ? options.batch : step_,
              options.part};
    begin_s_ = (outages_.empty() ? clock_.now() : outages_.back().ready_s) + cost_.delay_s;
    running_ = Handle<RunningGradient>::make();
    running_.pending()->what = "a gradient of its own";
    begun_ = false;
    given_up_ = std::make_shared<std::atomic<bool>>(false);
    clock_.works_on({begin_s_, Pending::kUnknown, cost_.straggle > 1 ? 1 - 1 / cost_.straggle : 0});
    progress();
    return running_;
  }

  void cancel(const Handle<RunningGradient>& gradient) override {
    CHECK(running_ && gradient == running_, "only a running gradient can be cancelled");
    *given_up_ = true;
    stop();
    for (const Crashes::Outage& outage : std::exchange(outages_, {})) {
      if (outage.crash_s > clock_.now()) break;
      clock_.outage(outage.ready_s, [&] { compute_.restart(outage); });
    }
  }

  Tensor take(const Handle<RunningGradient>& gradient) override {
    CHECK(running_ && gradient == running_, "a gradient that is not this worker's");
    Tensor result = gradient.result().gradient;
    const MicroBatch part = batch_.part;
    stop();
    compute_.use(part, result);
    for (const Crashes::Outage& outage : std::exchange(outages_, {})) compute_.restart(outage);
    if (compute_.crashes()) compute_.crashes()->computed(seconds_);
    return result;
  }

  /// Begins to compute once stragglers' delays are over, and completes. It takes what the workload says or,
  /// where values take their own time, that, stretched by stragglers.
  void progress() override {
    if (idle()) return;
    const double now_s = clock_.now();
    if (!begun_ && now_s >= begin_s_) compute();
    if (!begun_) return;
    PendingOf<RunningGradient>& pending = *running_.pending();
    if (pending.result.gradient && !of_.executor.ready(pending.result.gradient)) return;
    if (end_s_ == Pending::kUnknown)
      end_s_ = clock_.evaluates() ? now_s + (now_s - begin_s_) * std::max(0.0, cost_.straggle - 1)
                                  : begin_s_ + seconds_ - cost_.delay_s;
    if (now_s < end_s_) return;
    clock_.works_on({begin_s_, now_s, cost_.straggle > 1 ? 1 - 1 / cost_.straggle : 0});
    pending.complete(now_s);
  }

  bool idle() const override { return !running_ || running_.pending()->known(); }

 private:
  void compute() {
    begun_ = true;
    if (clock_.evaluates()) begin_s_ = clock_.now();
    if (of_.job.learner)
      running_.pending()->result.gradient =
          submit_interruptible(of_.executor, *of_.job.learner, parameters_, batch_, given_up_);
  }

  void stop() {
    clock_.works_on({});
    running_ = {};
    parameters_ = {};
    end_s_ = Pending::kUnknown;
  }

  RealRank of_;
  MpiClock& clock_;
  Compute& compute_;
  Replica& replica_;
  const std::uint64_t& step_;
  Handle<RunningGradient> running_;  // neither taken nor cancelled
  Tensor parameters_;                // at which it is taken
  BatchOf batch_;
  StepCost cost_;
  std::vector<Crashes::Outage> outages_;  // that hit it, until it is through
  double seconds_ = 0;                    // that it takes without them, by the workload
  double begin_s_ = 0;                    // its delays are over
  double end_s_ = Pending::kUnknown;
  bool begun_ = false;
  std::shared_ptr<std::atomic<bool>> given_up_;  // shared with the executor's thread
};

}  // namespace simsgd

// Compute: gradients of mini-batches on the worker's device, layer by layer where somebody asks. Step costs,
// stragglers, crashes and mini-batches are drawn here and nowhere else; a Machine makes time pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "sim/handle.hpp"
#include "sim/learn/gradient.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/roles/crashes.hpp"
#include "sim/roles/machine.hpp"
#include "sim/roles/replica.hpp"
#include "sim/workload.hpp"

namespace simsgd {

// How long a worker computes in a step, beside its workload: the same in the simulation and in a real run
// that sleeps through it.

struct Device;
struct Job;
struct OptimizerSpec;

struct StepCost {
  double delay_s = 0;   ///< stragglers, before computing
  double scale = 1;     ///< time of each layer: compute factor and speed of the node
  double straggle = 1;  ///< slow-down by stragglers
};

/// A part of a step: all of it is {rank, step, 0, 1}.
struct StepPart {
  int rank = 0;
  std::uint64_t step = 1;  ///< from 1
  std::uint32_t index = 0, of = 1;
};

/// `nominal_step_s`: the workload's step_compute_s(). A pure function of the job's seed and the part.
StepCost step_cost(const Job& job, const StepPart& part, double nominal_step_s);

/// What an update of so many parameters takes on the device beyond what a workload's step times include:
/// passes over vectors. Times of steps, measured or modelled, are taken to include an SGD update with
/// momentum, 20 bytes per parameter; clipping reads the gradient once more. 0 where the rate of passes is
/// unknown. Checked by hand in tests/learn/optimizer.cpp; docs/model.md, "Optimizers".
double update_s(const Device& device, const OptimizerSpec& optimizer, double parameters);

class Observers;

/// A layer's forward or backward pass in one of the micro-batches whose gradients are accumulated
/// (Workload::micro_batches).
struct LayerPass {
  int layer = 0;        ///< index into Workload::layers
  int micro_batch = 0;  ///< from 0
  bool last = true;     ///< the last micro-batch
};
/// May wait, spend time and start operations.
using LayerHook = std::function<void(const LayerPass& pass)>;

/// What to differentiate, and whom to tell meanwhile.
struct GradientOptions {
  MicroBatch part{};        ///< of the mini-batch; all of it by default
  std::uint64_t batch = 0;  ///< the mini-batch of which step; 0: of this one. Preemption only

  // Around each layer's passes, in every micro-batch.
  LayerHook before_forward, after_forward, before_backward, after_backward;

  /// Called when the gradient of a tensor is ready (of the last micro-batch), last layer first, at the time
  /// when its layer's backward pass ends, before after_backward. `gradient` is the whole gradient, of which
  /// the tensor is a part.
  std::function<void(const TensorInfo& tensor, const Tensor& gradient)> gradient_ready;
  /// Positions (ascending, in the order of Workload::tensors) of the tensors that gradient_ready is called
  /// for; empty: all.
  std::span<const std::size_t> ready_at;

  /// The parameters at which the gradient is taken, asked for when the first forward pass is through: hooks
  /// may have gathered them meanwhile. Not set: the replica's when the gradient begins.
  std::function<Tensor()> parameters;

  /// What else is made of the layers' inputs and output gradients (sim/learn/gradient.hpp), and who gets it,
  /// before any other call; an empty handle without a learner. `parameters` must not be set then.
  std::shared_ptr<const LayerStatistics> statistics;  ///< shared with the numeric plane
  std::function<void(const Tensor& statistics)> take_statistics;
};

class Compute {
 public:
  /// `times` are the workload's, and outlive this.
  Compute(const Job& job, const PassTimes& times, int rank, Executor& executor, Machine& machine,
          Replica& replica, Observers& observers);
  Compute(const Compute&) = delete;
  Compute& operator=(const Compute&) = delete;

  /// The mean gradient over the samples asked for. Blocks until the backward pass is through (or, where the
  /// host lets what follows begin earlier, until then).
  Tensor gradient(const GradientOptions& options = {});

  /// Computing beside gradients that has no effect of its own. Kernels' times: sim/cluster/kernels.hpp.
  void spend(Activity activity, double seconds, const char* label = nullptr);
  /// Computing whose effect is `result`: takes `seconds` where time is simulated; a real machine computes the
  /// result instead.
  void spend_on(Activity activity, double seconds, const Tensor& result, const char* label = nullptr);
  /// How many times as long as at nominal speed this worker takes for everything.
  double slower() const { return slower_; }

  /// An update of a share of the model's parameters (Replica::Updated): takes its time.
  void update(const Tensor& parameters, double share);

  // Failures. Crashes come from the scenario; see crashes.hpp for what they cost.
  /// How this algorithm recovers; recompute, if it never says. `restarted` is called on the main thread after
  /// each crash, when the replica is the one that the worker goes on with.
  void recover_by(Recovery recovery, std::function<void()> restarted = {});

  // For machines.
  void begin_step(std::uint64_t step);
  /// Writes a checkpoint where one is due. Before the step counts as ended.
  void finish_step();
  double step_samples() const { return step_samples_; }  ///< of the workload, used in this step
  /// Of the next of the equal micro-batches that this step is computed in.
  StepCost next_cost(int micro_batches);
  /// Seconds of a gradient on this worker, from the delay before it on.
  double seconds_of(const MicroBatch& part, const StepCost& cost) const;
  /// The gradient's values, to be computed.
  Tensor submit(const GradientOptions& options, const Tensor& parameters);
  /// Its samples count as used.
  void use(const MicroBatch& part, const Tensor& gradient);
  Crashes* crashes() { return crashes_.get(); }  ///< null where nothing fails
  /// A crash has happened, and the worker is back.
  void restart(const Crashes::Outage& outage);
  const ReplicaState& checkpoint() const { return checkpoint_; }

 private:
  struct Pass;  // of one gradient: what does not change between its layers
  void live_through(double seconds);
  bool evaluates() const;
  void compute(const Pass& pass, double nominal_s);
  void forward(const Pass& pass, int micro_batch);
  void backward(const Pass& pass, int micro_batch);
  void last_backward(const Pass& pass, const Tensor& gradient);

  const Job& job_;
  int rank_;
  Executor& executor_;
  Machine& machine_;
  Replica& replica_;
  Observers& observers_;
  const PassTimes& times_;
  double slower_ = 1;
  double update_s_ = 0;  // of the whole model, nominal
  std::uint64_t step_ = 0;
  std::uint32_t micro_batches_begun_ = 0;  // in this step
  double step_samples_ = 0;
  std::unique_ptr<Crashes> crashes_;
  ReplicaState checkpoint_;
  std::function<void()> restarted_;  // may be empty
};

// Preemption: a gradient that is computed while the main thread waits for something else, and may be given
// up.

/// What a running gradient will give; Preemption::take hands it over.
struct RunningGradient {
  Tensor gradient;
};

/// One gradient at a time for each worker.
class Preemption {
 public:
  virtual ~Preemption() = default;
  /// The same as Compute::gradient without waiting, and without hooks.
  virtual Handle<RunningGradient> start(const GradientOptions& options) = 0;
  virtual void cancel(const Handle<RunningGradient>& gradient) = 0;
  /// Of a gradient that is complete; counts its samples as used.
  virtual Tensor take(const Handle<RunningGradient>& gradient) = 0;
};

}  // namespace simsgd

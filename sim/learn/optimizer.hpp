// Optimizers and learning-rate schedules. An update is a pure function of (parameters, state, gradient):
// kernels on the numeric plane, so that workers with equal state share the result, and a checkpoint is a copy
// of handles. One optimizer is one file under optimizers/, listed in CMakeLists.txt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/learn/tensor.hpp"

namespace simsgd {

/// Learning rate of step k (from 1): base * warm-up * schedule. The warm-up factor at step k of
/// `warmup_steps` W is f + (1 - f) (k - 1) / W with f = `warmup_from`, and 1 from step W + 1 on (Goyal et
/// al., 2017, arXiv:1706.02677). Schedules: constant, 1; step, `gamma` to the power of the number of
/// `milestones` <= k; cosine, floor + (1 - floor) (1 + cos(pi t)) / 2, where t runs from 0 at step W + 1 to 1
/// at step `total_steps` and stays there (Loshchilov and Hutter, ICLR 2017, arXiv:1608.03983, without
/// restarts). Checked by hand in tests/learn/optimizer.cpp.
struct LearningRate {
  double base = 0.1;
  enum class Kind { constant, step, cosine } kind = Kind::constant;
  std::uint64_t warmup_steps = 0;
  double warmup_from = 0;  ///< fraction of `base` at the first warm-up step
  std::vector<std::uint64_t> milestones;
  double gamma = 0.1;
  std::uint64_t total_steps = 0;
  double floor = 0;  ///< fraction of `base`

  double at(std::uint64_t step) const;
};

/// The state of one replica: its parameters, and the optimizer's named vectors (empty handles before the
/// first step).
struct ReplicaState {
  Tensor parameters;
  std::vector<Tensor> state;
};

/// Bytes that one update reads and writes for each fp32 parameter.
struct UpdateBytes {
  double read = 0, written = 0;
};

/// One optimizer, its settings fixed when it is made.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Of the vectors that it keeps, each as long as the parameters, fp32.
  virtual std::vector<std::string> state_names() const = 0;
  virtual UpdateBytes bytes_per_parameter() const = 0;
  /// One update at learning rate `rate`; the states given stay as they are. Pure. Each parameter is updated
  /// by itself: a slice of the parameters, with a state of its own from the first step on, gets what it gets
  /// in the whole.
  virtual ReplicaState step(Executor& executor, double rate, const ReplicaState& replica,
                            const Tensor& gradient) const = 0;
};

/// SGD in PyTorch's convention (optimizers/sgd.cpp).
std::shared_ptr<const UpdateRule> sgd_rule(double momentum = 0, bool nesterov = false,
                                           double weight_decay = 0);

/// How gradients change the model, over all steps of a run.
struct OptimizerSpec {
  LearningRate learning_rate;
  std::shared_ptr<const UpdateRule> rule = sgd_rule();  ///< never null; shared by copies of the settings
  double clip_norm = 0;                                 ///< 0: gradients are not clipped

  /// Clips the gradient, then one update at the learning rate of that step (from 1). Empty where the
  /// parameters or the gradient are empty. Of a slice only without clipping, which needs the norm of the
  /// whole.
  ReplicaState step(Executor& executor, std::uint64_t step_number, const ReplicaState& replica,
                    const Tensor& gradient) const;
  /// Memory of the named vectors.
  double state_bytes_per_parameter() const;
};

/// g min(1, norm / |g|_2): a gradient that is longer than `norm` becomes that long. Pascanu, Mikolov, Bengio,
/// ICML 2013, arXiv:1211.5063, Algorithm 1. What comes along with it (Tensor::scalars) stays.
Tensor clipped(Executor& executor, const Tensor& gradient, double norm);

}  // namespace simsgd

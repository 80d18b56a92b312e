// First-order optimizers and learning-rate schedules. An optimizer is a pure function of (parameters,
// velocity, gradient): two kernels on the numeric plane, so that workers with equal state share the result.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/learn/values.hpp"

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

/// SGD with momentum, in PyTorch's convention: g <- g + weight_decay w; u <- momentum u + g; then
/// w <- w - eta u, or with Nesterov's momentum w <- w - eta (g + momentum u).
/// Sutskever et al., ICML 2013.
struct OptimizerSpec {
  LearningRate learning_rate;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

/// The state of one replica: handles to its parameters and to its velocity (empty while momentum is 0).
struct ReplicaState {
  Values parameters;
  Values velocity;
};

/// One optimizer step at learning rate `eta`; the states given stay as they are. Without a velocity (the
/// first step) u is g, as in PyTorch. Empty where the parameters or the gradient are empty.
ReplicaState sgd_step(Executor& executor, const OptimizerSpec& spec, double eta, const ReplicaState& state,
                      const Values& gradient);

}  // namespace simsgd

// The outer optimizer of methods whose workers train alone in between: Nesterov's momentum along D, the mean
// over workers of how far they went from g, which they agreed on last.
//   u <- mu u + D;  g <- g - eta (D + mu u)
// With eta = 1 and mu = 0, g becomes the mean of their models. Douillard et al., "DiLoCo", 2023,
// arXiv:2311.08105, Algorithm 1, in the form of PyTorch's SGD. Checked by hand in
// tests/algorithms/low_communication.cpp.
#pragma once

#include "algorithms/plugin.hpp"
#include "sim/learn/tensor.hpp"

namespace simsgd {

struct OuterSettings {
  double rate = 0.7, momentum = 0.9;
  void fields(Fields& f);
};

/// Seconds of a step for each parameter, on the cluster's device: reads g, D and u, writes g and u, fp32.
double outer_step_s(const AlgorithmContext& context);

/// One worker's; the same everywhere.
class OuterNesterov {
 public:
  /// `start` is empty where nothing is learned.
  OuterNesterov(const OuterSettings& settings, Tensor start)
      : settings_(settings), agreed_(std::move(start)) {}

  void step(Executor& executor, const Tensor& mean_difference);
  const Tensor& agreed() const { return agreed_; }  ///< g

 private:
  OuterSettings settings_;
  Tensor agreed_, velocity_;  // velocity_: empty before the first step
};

// Delayed Nesterov momentum: how a server takes over differences that come one by one, with a momentum that
// moves once for N of them. At the t-th difference D (m = S = 0 at first):
//   S <- S + D;  where N divides t: m <- beta m + S / N,  theta <- theta - eps ((1 - c N + c) beta m + D /
//   N), S <- 0;  else theta <- theta - eps (c beta m + D / N)
// N 1, c 0 is momentum at every difference. Liu et al., 2024, arXiv:2401.09135, Algorithm 3, in the form of
// HALoS's published code (github.com/utnslab/halos, src/halos/opt.py).

struct DelayedNesterovSettings {
  double rate = 0.7;      ///< eps
  double momentum = 0.9;  ///< beta
  int delay = 1;          ///< N
  double spread = 0;      ///< c N
};

class DelayedNesterov {
 public:
  /// `model` is empty where nothing is learned; then only `taken` changes.
  DelayedNesterov(const DelayedNesterovSettings& settings, Tensor model)
      : settings_(settings), model_(std::move(model)) {}

  void take(Executor& executor, const Tensor& difference);
  void set_model(Tensor model) { model_ = std::move(model); }
  const Tensor& model() const { return model_; }
  std::uint64_t taken() const { return taken_; }  ///< differences

 private:
  DelayedNesterovSettings settings_;
  Tensor model_, momentum_, sum_;
  std::uint64_t taken_ = 0;
};

}  // namespace simsgd

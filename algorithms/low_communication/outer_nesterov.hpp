// The outer optimizer of methods whose workers train alone in between: Nesterov's momentum along D, the mean
// over workers of how far they went from g, which they agreed on last.
//   u <- mu u + D;  g <- g - eta (D + mu u)
// With eta = 1 and mu = 0, g becomes the mean of their models. Douillard et al., "DiLoCo", 2023,
// arXiv:2311.08105, Algorithm 1, in the form of PyTorch's SGD. Checked by hand in
// tests/algorithms/low_communication.cpp.
#pragma once

#include "algorithms/plugin.hpp"

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

}  // namespace simsgd

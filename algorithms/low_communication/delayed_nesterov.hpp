// Delayed Nesterov momentum: how a server takes over differences that come one by one, with a momentum that
// moves once for N of them. At the t-th difference D (m = S = 0 at first):
//   S <- S + D;  where N divides t: m <- beta m + S / N,  theta <- theta - eps ((1 - c N + c) beta m + D /
//   N), S <- 0;  else theta <- theta - eps (c beta m + D / N)
// N 1, c 0 is momentum at every difference. Liu et al., 2024, arXiv:2401.09135, Algorithm 3, in the form of
// HALoS's published code (github.com/utnslab/halos, src/halos/opt.py).
#pragma once

#include "sim/learn/tensor.hpp"

namespace simsgd {

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

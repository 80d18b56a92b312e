// Causal self-attention with heads, between the products that make queries, keys and values and the one that
// joins the heads. A column of the input is one sequence: of each of `positions` tokens its query, key and
// value, `width` numbers each; of each head h they are rows h w/heads to (h + 1) w/heads of these. Per head,
// with a column per token and n = w/heads:
//   S = K^T Q / sqrt(n),  P(:, j) = softmax over i <= j of S(:, j), 0 for i > j,  O = V P
//   dV = dO P^T,  dP = V^T dO,  dS = P o (dP - 1 (column sums of P o dP)),  dQ = K dS / sqrt(n),
//   dK = Q dS^T / sqrt(n)
// Vaswani et al., NeurIPS 2017, arXiv:1706.03762, section 3.2. P is computed again on the way back instead of
// kept: a small part of the FLOPs, and memory that does not grow with positions^2. Checked in
// tests/learn/gradients.cpp and tests/learn/transformer_torch.py.
#pragma once

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

struct AttentionShape {
  std::int64_t width = 0, heads = 1, positions = 0;
  std::int64_t head() const { return width / heads; }
};

template <class T>
class CausalAttention final : public ModelLayer<T> {
 public:
  explicit CausalAttention(const AttentionShape& shape) : shape_(shape) {}

  std::int64_t inputs() const override { return 3 * shape_.width * shape_.positions; }
  std::int64_t outputs() const override { return shape_.width * shape_.positions; }
  std::int64_t scratch() const override { return 2 * shape_.positions * shape_.positions; }
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  AttentionShape shape_;
};

}  // namespace simsgd

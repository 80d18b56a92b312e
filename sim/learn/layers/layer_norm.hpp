// Layer norm: every column to mean 0 and variance 1, then a gain and an offset per row.
//   m = mean_i x_i,  r = 1 / sqrt(mean_i (x_i - m)^2 + 1e-5),  h = (x - m) r,  y = g h + b
//   backward, with d = g dL/dy:  dL/dx = r (d - mean d - h mean(d h)),  dL/dg = sum h dL/dy,  dL/db = sum
//   dL/dy
// Ba, Kiros, Hinton, 2016, arXiv:1607.06450; 1e-5 is PyTorch's default. Checked against finite differences in
// tests/learn/gradients.cpp and against PyTorch in tests/learn/transformer_torch.py.
#pragma once

#include <string>

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

template <class T>
class LayerNorm final : public ModelLayer<T> {
 public:
  LayerNorm(std::string name, std::int64_t size, bool bias)
      : name_(std::move(name)), size_(size), bias_(bias) {}

  std::int64_t inputs() const override { return size_; }
  std::int64_t outputs() const override { return size_; }
  std::optional<LayerInfo> weights() const override;
  void initialise(Stream& stream, std::span<T> weights) const override;
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  std::string name_;
  std::int64_t size_;
  bool bias_;
};

}  // namespace simsgd

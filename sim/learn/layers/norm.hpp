// Group norm: the numbers of a group of channels to mean 0 and variance 1, sample by sample, then a gain and
// an offset per channel. Over the numbers x_i of a group, i in channel c:
//   m = mean_i x_i,  r = 1 / sqrt(mean_i (x_i - m)^2 + 1e-5),  h = (x - m) r,  y = g_c h + b_c
//   backward, with d = g dL/dy:  dL/dx = r (d - mean d - h mean(d h)),  dL/dg = sum h dL/dy,  dL/db = sum
//   dL/dy
// Wu, He, ECCV 2018, arXiv:1803.08494. With one group, and channels of one number, it is layer norm: Ba,
// Kiros, Hinton, 2016, arXiv:1607.06450. 1e-5 is PyTorch's default for both. Checked against finite
// differences in tests/learn/gradients.cpp and against PyTorch in tests/learn/transformer_torch.py and
// resnet_torch.py.
#pragma once

#include <string>

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

struct NormShape {
  std::string name;
  std::int64_t channels = 0;
  std::int64_t positions = 1;  ///< numbers of a channel: pixels of an image
  std::int64_t groups = 1;     ///< divide the channels
  bool bias = true;
  std::int64_t size() const { return channels * positions; }
};

template <class T>
class Norm final : public ModelLayer<T> {
 public:
  explicit Norm(NormShape shape) : shape_(std::move(shape)) {}

  std::int64_t inputs() const override { return shape_.size(); }
  std::int64_t outputs() const override { return shape_.size(); }
  std::optional<LayerInfo> weights() const override;
  void initialise(Stream& stream, std::span<T> weights) const override;
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  NormShape shape_;
};

}  // namespace simsgd

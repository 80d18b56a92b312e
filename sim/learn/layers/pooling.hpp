// Max pooling over `window` x `window` blocks that do not overlap; what is left at the right and lower edge
// is dropped, as in PyTorch. The gradient goes to the first entry of the block that is the largest.
#pragma once

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

struct PoolShape {
  std::int64_t channels = 0;
  std::int64_t height = 0, width = 0;
  std::int64_t window = 2;

  std::int64_t out_height() const { return height / window; }
  std::int64_t out_width() const { return width / window; }
};

template <class T>
class MaxPool final : public ModelLayer<T> {
 public:
  /// The window fits the image.
  explicit MaxPool(PoolShape shape) : shape_(shape) {}

  std::int64_t inputs() const override { return shape_.channels * shape_.height * shape_.width; }
  std::int64_t outputs() const override { return shape_.channels * shape_.out_height() * shape_.out_width(); }
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  PoolShape shape_;
};

// Global average pooling: the mean of every channel. Lin, Chen, Yan, ICLR 2014, arXiv:1312.4400.

template <class T>
class MeanPool final : public ModelLayer<T> {
 public:
  MeanPool(std::int64_t channels, std::int64_t positions) : channels_(channels), positions_(positions) {}

  std::int64_t inputs() const override { return channels_ * positions_; }
  std::int64_t outputs() const override { return channels_; }
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  std::int64_t channels_, positions_;
};

}  // namespace simsgd

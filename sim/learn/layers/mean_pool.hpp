// Global average pooling: the mean of every channel. Lin, Chen, Yan, ICLR 2014, arXiv:1312.4400.
#pragma once

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

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

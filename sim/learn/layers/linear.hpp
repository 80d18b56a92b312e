// Linear layer: y = W x + b.
//   backward: dL/dW = (dL/dy) x^T,  dL/db = dL/dy summed over samples,  dL/dx = W^T (dL/dy)
// Checked against finite differences in tests/learn/gradients.cpp.
#pragma once

#include <string>

#include "sim/learn/layers/layer.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

struct LinearShape {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = true;
};

template <class T>
class Linear final : public ModelLayer<T> {
 public:
  explicit Linear(LinearShape shape) : shape_(std::move(shape)) {}

  std::int64_t inputs() const override { return shape_.inputs; }
  std::int64_t outputs() const override { return shape_.outputs; }
  std::optional<LayerInfo> weights() const override;
  void initialise(Stream& stream, std::span<T> weights) const override;
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  LinearShape shape_;
};

}  // namespace simsgd

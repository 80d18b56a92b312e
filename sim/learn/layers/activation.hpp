// Activations, applied to every entry, in place.
//   relu: y = max(x, 0), dL/dx = dL/dy where y > 0, else 0;   tanh: y = tanh x, dL/dx = (1 - y^2) dL/dy
#pragma once

#include <string_view>

#include "sim/base/fields.hpp"
#include "sim/learn/layers/layer.hpp"

namespace simsgd {

enum class ActivationKind : std::uint8_t { relu, tanh };

/// The option "activation" of a model.
Field& add_activation(Fields& fields, ActivationKind& kind, std::string_view meaning);

template <class T>
class Activation final : public ModelLayer<T> {
 public:
  Activation(ActivationKind kind, std::int64_t size) : kind_(kind), size_(size) {}

  std::int64_t inputs() const override { return size_; }
  std::int64_t outputs() const override { return size_; }
  bool in_place() const override { return true; }
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  ActivationKind kind_;
  std::int64_t size_;
};

}  // namespace simsgd

// Activations, applied to every entry, in place.
//   relu: y = max(x, 0), dL/dx = dL/dy where y > 0, else 0;   tanh: y = tanh x, dL/dx = (1 - y^2) dL/dy
#pragma once

#include <string_view>

#include "sim/base/fields.hpp"
#include "sim/learn/layers/layer.hpp"

namespace simsgd {

enum class ActivationKind : std::uint8_t { relu, tanh };

/// The option "activation" of a model.
inline Field& add_activation(Fields& fields, ActivationKind& kind, std::string_view meaning) {
  return fields.choice("activation", kind, {{"relu", ActivationKind::relu}, {"tanh", ActivationKind::tanh}},
                       meaning);
}

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

// GELU, the tanh form of GPT-2: y = x/2 (1 + tanh u),  u = sqrt(2/pi) (x + 0.044715 x^3)
//   dL/dx = dL/dy [ (1 + tanh u)/2 + x/2 (1 - tanh^2 u) du/dx ],  du/dx = sqrt(2/pi) (1 + 3 0.044715 x^2)
// Hendrycks, Gimpel, 2016, arXiv:1606.08415. It is at most 5e-4 off x Phi(x). Not in place: going backward it
// needs its inputs. Checked in tests/learn/gradients.cpp and tests/learn/transformer_torch.py.

template <class T>
class Gelu final : public ModelLayer<T> {
 public:
  explicit Gelu(std::int64_t size) : size_(size) {}

  std::int64_t inputs() const override { return size_; }
  std::int64_t outputs() const override { return size_; }
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  std::int64_t size_;
};

}  // namespace simsgd

#include "sim/learn/layers/activation.hpp"

#include <numbers>

#include "sim/learn/model.hpp"

namespace simsgd {

template <class T>
void Activation<T>::forward(const ForwardPass<T>& pass) const {
  View<T> output = pass.output;
  if (kind_ == ActivationKind::tanh) {
    output.array() = pass.input.array().tanh();
    return;
  }
  // A NaN stays a NaN: a run that diverges may not look like one that learns nothing.
  const T* from = pass.input.data();
  T* to = output.data();
  for (Eigen::Index i = 0; i < output.size(); ++i) to[i] = from[i] < T(0) ? T(0) : from[i];
}

template <class T>
void Activation<T>::backward(const BackwardPass<T>& pass) const {
  const Eigen::Index size = pass.output.size();
  const T* output = pass.output.data();
  const T* from = pass.output_gradient.data();
  T* to = View<T>(pass.input_gradient).data();
  // Plain loops: the compiler turns them into vector instructions, which Eigen 3.4's select() is not.
  if (kind_ == ActivationKind::relu)
    for (Eigen::Index i = 0; i < size; ++i) to[i] = output[i] > T(0) ? from[i] : T(0);
  else
    for (Eigen::Index i = 0; i < size; ++i) to[i] = from[i] * (T(1) - output[i] * output[i]);
}

template class Activation<Scalar>;

namespace {

template <class T>
constexpr T kGeluSlope = static_cast<T>(std::numbers::sqrt2* std::numbers::inv_sqrtpi);
template <class T>
constexpr T kGeluCubic = static_cast<T>(0.044715);

template <class Array>
auto gelu_argument(const Array& x) {
  using T = typename Array::Scalar;
  return kGeluSlope<T> * x * (T(1) + kGeluCubic<T> * x * x);
}

}  // namespace

template <class T>
void Gelu<T>::forward(const ForwardPass<T>& pass) const {
  View<T> output = pass.output;
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const auto x = pass.input.col(s).array();
    output.col(s).array() = T(0.5) * x * (T(1) + gelu_argument(x).tanh());
  }
}

template <class T>
void Gelu<T>::backward(const BackwardPass<T>& pass) const {
  View<T> input_gradient = pass.input_gradient;
  Eigen::Array<T, Eigen::Dynamic, 1> tanh(size_);
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const auto x = pass.input.col(s).array();
    tanh = gelu_argument(x).tanh();
    input_gradient.col(s).array() =
        pass.output_gradient.col(s).array() * T(0.5) *
        (T(1) + tanh +
         x * (T(1) - tanh.square()) * kGeluSlope<T> * (T(1) + T(3) * kGeluCubic<T> * x.square()));
  }
}

template class Gelu<Scalar>;

}  // namespace simsgd

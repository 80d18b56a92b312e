#include "sim/learn/layers/gelu.hpp"

#include <numbers>

#include "sim/learn/model.hpp"

namespace simsgd {

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

template class Gelu<float>;
template class Gelu<double>;

}  // namespace simsgd

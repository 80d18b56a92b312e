#include "sim/learn/layers/layer_norm.hpp"

#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

constexpr double kLayerNormEpsilon = 1e-5;

template <class T>
struct ColumnMoments {
  T mean, inverse;  // of the column, and of its standard deviation
};

template <class Column>
auto moments_of(const Column& x) {
  using T = typename Column::Scalar;
  const T mean = x.mean();
  const T variance = (x.array() - mean).square().mean();
  return ColumnMoments<T>{mean, T(1) / std::sqrt(variance + static_cast<T>(kLayerNormEpsilon))};
}

}  // namespace

template <class T>
std::optional<LayerInfo> LayerNorm<T>::weights() const {
  LayerInfo info;
  info.name = name_;
  info.rows = size_;
  info.columns = 1;
  info.bias = bias_;
  info.forward_flop =
      8.0 * static_cast<double>(size_);  // two sums, a difference, a square, a gain, an offset
  info.activations = size_;
  return info;
}

template <class T>
void LayerNorm<T>::initialise(Stream& /*stream*/, std::span<T> weights) const {
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<std::int64_t>(i) < size_ ? T(1) : T(0);
}

template <class T>
void LayerNorm<T>::forward(const ForwardPass<T>& pass) const {
  const ConstVectorView<T> gain(pass.weights, size_);
  View<T> output = pass.output;
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const auto x = pass.input.col(s);
    const auto [mean, inverse] = moments_of(x);
    output.col(s).array() = (x.array() - mean) * inverse * gain.array();
    if (bias_) output.col(s) += ConstVectorView<T>(pass.weights + size_, size_);
  }
}

template <class T>
void LayerNorm<T>::backward(const BackwardPass<T>& pass) const {
  const ConstVectorView<T> gain(pass.weights, size_);
  VectorView<T> gain_gradient(pass.weight_gradient, size_);
  VectorView<T> bias_gradient(pass.weight_gradient + size_, bias_ ? size_ : 0);
  gain_gradient.setZero();
  bias_gradient.setZero();
  View<T> input_gradient = pass.input_gradient;
  Eigen::Matrix<T, Eigen::Dynamic, 1> normal(size_), scaled(size_);
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const auto x = pass.input.col(s);
    const auto arriving = pass.output_gradient.col(s);
    const auto [mean, inverse] = moments_of(x);
    normal = (x.array() - mean) * inverse;
    gain_gradient.array() += normal.array() * arriving.array();
    if (bias_) bias_gradient += arriving;
    scaled = arriving.cwiseProduct(gain);
    const T mean_scaled = scaled.mean();
    const T along = scaled.dot(normal) / static_cast<T>(size_);
    input_gradient.col(s).array() = inverse * (scaled.array() - mean_scaled - normal.array() * along);
  }
}

template class LayerNorm<float>;
template class LayerNorm<double>;

}  // namespace simsgd

#include "sim/learn/layers/norm.hpp"

#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

constexpr double kNormEpsilon = 1e-5;

template <class T>
using NormVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T>
struct GroupMoments {
  T mean, inverse;  // of the group, and of its standard deviation
};

template <class Group>
auto moments_of(const Group& x) {
  using T = typename Group::Scalar;
  const T mean = x.mean();
  const T variance = (x.array() - mean).square().mean();
  return GroupMoments<T>{mean, T(1) / std::sqrt(variance + static_cast<T>(kNormEpsilon))};
}

// What a channel has, at each of its positions.
template <class T>
NormVector<T> spread_channels(const T* of_channel, const NormShape& shape) {
  NormVector<T> wide(shape.size());
  for (std::int64_t c = 0; c < shape.channels; ++c)
    wide.segment(c * shape.positions, shape.positions).setConstant(of_channel[c]);
  return wide;
}

// The transpose.
template <class T>
void gather_channels(const NormVector<T>& wide, const NormShape& shape, T* of_channel) {
  for (std::int64_t c = 0; c < shape.channels; ++c)
    of_channel[c] = wide.segment(c * shape.positions, shape.positions).sum();
}

}  // namespace

template <class T>
std::optional<LayerInfo> Norm<T>::weights() const {
  LayerInfo info;
  info.name = shape_.name;
  info.rows = shape_.channels;
  info.columns = 1;
  info.bias = shape_.bias;
  info.forward_flop =
      8.0 * static_cast<double>(shape_.size());  // two sums, a difference, a square, a gain, an offset
  info.activations = shape_.size();
  return info;
}

template <class T>
void Norm<T>::initialise(Stream& /*stream*/, std::span<T> weights) const {
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<std::int64_t>(i) < shape_.channels ? T(1) : T(0);
}

template <class T>
void Norm<T>::forward(const ForwardPass<T>& pass) const {
  const std::int64_t size = shape_.size() / shape_.groups;
  const NormVector<T> gain = spread_channels(pass.weights, shape_);
  const NormVector<T> offset =
      shape_.bias ? spread_channels(pass.weights + shape_.channels, shape_) : NormVector<T>();
  View<T> output = pass.output;
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s)
    for (std::int64_t begin = 0; begin < shape_.size(); begin += size) {
      const auto x = pass.input.col(s).segment(begin, size);
      auto y = output.col(s).segment(begin, size);
      const auto [mean, inverse] = moments_of(x);
      y.array() = (x.array() - mean) * inverse * gain.segment(begin, size).array();
      if (shape_.bias) y += offset.segment(begin, size);
    }
}

template <class T>
void Norm<T>::backward(const BackwardPass<T>& pass) const {
  const std::int64_t size = shape_.size() / shape_.groups;
  const NormVector<T> gain = spread_channels(pass.weights, shape_);
  NormVector<T> gain_gradient = NormVector<T>::Zero(shape_.size());
  NormVector<T> bias_gradient = NormVector<T>::Zero(shape_.bias ? shape_.size() : 0);
  View<T> input_gradient = pass.input_gradient;
  NormVector<T> normal(size), scaled(size);
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s)
    for (std::int64_t begin = 0; begin < shape_.size(); begin += size) {
      const auto x = pass.input.col(s).segment(begin, size);
      const auto arriving = pass.output_gradient.col(s).segment(begin, size);
      const auto [mean, inverse] = moments_of(x);
      normal = (x.array() - mean) * inverse;
      gain_gradient.segment(begin, size).array() += normal.array() * arriving.array();
      if (shape_.bias) bias_gradient.segment(begin, size) += arriving;
      scaled = arriving.cwiseProduct(gain.segment(begin, size));
      const T mean_scaled = scaled.mean();
      const T along = scaled.dot(normal) / static_cast<T>(size);
      input_gradient.col(s).segment(begin, size).array() =
          inverse * (scaled.array() - mean_scaled - normal.array() * along);
    }
  gather_channels(gain_gradient, shape_, pass.weight_gradient);
  if (shape_.bias) gather_channels(bias_gradient, shape_, pass.weight_gradient + shape_.channels);
}

template class Norm<Scalar>;

}  // namespace simsgd

// Layers: the building blocks of a Network (models/network.hpp). A layer is immutable and holds no values:
// weights, activations and scratch space are given to every call, so that one object serves every thread.
// A column of every matrix is one sample, or one token of a sample (models/causal_transformer.hpp). Images
// are channel-major: feature (c, y, x) of a sample is row (c * height + y) * width + x.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/base/random.hpp"
#include "sim/learn/model.hpp"

#ifndef SIMSGD_SCALAR
#define SIMSGD_SCALAR float
#endif

namespace simsgd {

/// What layers and models are compiled for: float. Tests compile the same sources for double, to check
/// gradients with.
using Scalar = SIMSGD_SCALAR;

template <class T>
using View = Eigen::Map<Matrix<T>>;
template <class T>
using ConstView = Eigen::Map<const Matrix<T>>;
template <class T>
using VectorView = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstVectorView = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>;

template <class T>
struct ForwardPass {
  const T* weights;    ///< of this layer: rows x columns, column-major, then the biases
  ConstView<T> input;  ///< inputs() x samples
  View<T> output;      ///< outputs() x samples, overwritten
  T* scratch;          ///< scratch() numbers
};

template <class T>
struct BackwardPass {
  const T* weights;
  ConstView<T> input;
  ConstView<T> output;
  ConstView<T> output_gradient;
  View<T> input_gradient;            ///< overwritten; its data is null where nobody needs it
  T* weight_gradient;                ///< overwritten
  T* scratch;                        ///< scratch() numbers
  typename LayerTap<T>::Entry* tap;  ///< of a layer with weights; may be null
};

template <class T>
class ModelLayer {
 public:
  virtual ~ModelLayer() = default;

  virtual std::int64_t inputs() const = 0;
  virtual std::int64_t outputs() const = 0;
  /// What the layer says of its weights (the network fills the offset); none for a layer without weights.
  virtual std::optional<LayerInfo> weights() const { return std::nullopt; }
  /// Whether output may be the same memory as input, and input gradient the same as output gradient. Such a
  /// layer must not need its input to go backward.
  virtual bool in_place() const { return false; }
  /// Numbers of scratch space that a call needs, whatever the batch.
  virtual std::int64_t scratch() const { return 0; }
  virtual void initialise(Stream& /*stream*/, std::span<T> /*weights*/) const {}

  virtual void forward(const ForwardPass<T>& pass) const = 0;
  virtual void backward(const BackwardPass<T>& pass) const = 0;
};

/// How a layer's weights are drawn: `uniform` or `he`, below.
enum class StartingWeights : std::uint8_t { uniform, he };

/// Weights and biases uniform on +-1/sqrt(fan_in), the starting point of PyTorch's nn.Linear and nn.Conv2d
/// (LeCun et al., "Efficient BackProp", 1998, up to a constant).
template <class T>
void initialise_uniform(Stream& stream, std::int64_t fan_in, std::span<T> weights) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  for (T& weight : weights) weight = static_cast<T>(bound * (2.0 * stream.uniform() - 1.0));
}

/// Normal with variance 2/fan_in, for what ReLU has halved: He, Zhang, Ren, Sun, ICCV 2015, arXiv:1502.01852,
/// equation 10.
template <class T>
void initialise_he(Stream& stream, std::int64_t fan_in, std::span<T> weights) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(fan_in));
  for (T& weight : weights) weight = static_cast<T>(deviation * stream.normal());
}

}  // namespace simsgd

#include "sim/learn/layers/linear.hpp"

namespace simsgd {

namespace {

template <class T>
void fill_tap(const BackwardPass<T>& pass, bool bias, typename LayerTap<T>::Entry& tap) {
  const Eigen::Index rows = pass.input.rows();
  tap.input.resize(rows + (bias ? 1 : 0), pass.input.cols());
  tap.input.topRows(rows) = pass.input;
  if (bias) tap.input.bottomRows(1).setOnes();
  tap.output_gradient = pass.output_gradient;
}

}  // namespace

template <class T>
std::optional<LayerInfo> Linear<T>::weights() const {
  LayerInfo info;
  info.name = shape_.name;
  info.kind = LayerInfo::Kind::linear;
  info.rows = shape_.outputs;
  info.columns = shape_.inputs;
  info.bias = shape_.bias;
  info.forward_flop = 2.0 * static_cast<double>(shape_.outputs) * static_cast<double>(shape_.inputs);
  info.activations = shape_.outputs;
  return info;
}

template <class T>
void Linear<T>::initialise(Stream& stream, std::span<T> weights) const {
  initialise_uniform(stream, shape_.inputs, weights);
}

template <class T>
void Linear<T>::forward(const ForwardPass<T>& pass) const {
  View<T> output = pass.output;
  output.noalias() = ConstView<T>(pass.weights, shape_.outputs, shape_.inputs) * pass.input;
  if (shape_.bias)
    output.colwise() += ConstVectorView<T>(pass.weights + shape_.outputs * shape_.inputs, shape_.outputs);
}

template <class T>
void Linear<T>::backward(const BackwardPass<T>& pass) const {
  const ConstView<T>& gradient = pass.output_gradient;
  View<T>(pass.weight_gradient, shape_.outputs, shape_.inputs).noalias() = gradient * pass.input.transpose();
  if (shape_.bias) {
    VectorView<T> bias(pass.weight_gradient + shape_.outputs * shape_.inputs, shape_.outputs);
    bias = gradient.col(0);
    for (Eigen::Index s = 1; s < gradient.cols(); ++s) bias += gradient.col(s);
  }
  if (pass.input_gradient.data() != nullptr) {
    View<T> input_gradient = pass.input_gradient;
    input_gradient.noalias() =
        ConstView<T>(pass.weights, shape_.outputs, shape_.inputs).transpose() * gradient;
  }
  if (pass.tap != nullptr) fill_tap(pass, shape_.bias, *pass.tap);
}

template class Linear<Scalar>;

}  // namespace simsgd

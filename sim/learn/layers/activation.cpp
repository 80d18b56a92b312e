#include "sim/learn/layers/activation.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

Field& add_activation(Fields& fields, ActivationKind& kind, std::string_view meaning) {
  return fields.choice("activation", kind, {{"relu", ActivationKind::relu}, {"tanh", ActivationKind::tanh}},
                       meaning);
}

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

template class Activation<float>;
template class Activation<double>;

}  // namespace simsgd

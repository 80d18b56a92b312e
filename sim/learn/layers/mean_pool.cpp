#include "sim/learn/layers/mean_pool.hpp"

namespace simsgd {

template <class T>
void MeanPool<T>::forward(const ForwardPass<T>& pass) const {
  const ConstView<T> planes(pass.input.data(), positions_, channels_ * pass.input.cols());
  View<T> output = pass.output;
  Eigen::Map<Eigen::Matrix<T, 1, Eigen::Dynamic>>(output.data(), output.size()) = planes.colwise().mean();
}

template <class T>
void MeanPool<T>::backward(const BackwardPass<T>& pass) const {
  View<T> planes(View<T>(pass.input_gradient).data(), positions_, channels_ * pass.input.cols());
  const T share = T(1) / static_cast<T>(positions_);
  for (Eigen::Index p = 0; p < planes.cols(); ++p)
    planes.col(p).setConstant(share * pass.output_gradient.data()[p]);
}

template class MeanPool<float>;
template class MeanPool<double>;

}  // namespace simsgd

// Losses: mean over the samples of a batch, with the gradient with respect to the outputs of a model.
//   cross_entropy: L = mean_s [ log sum_c exp z_cs - z_{label(s) s} ],  dL/dz = (softmax(z) - onehot) /
//   samples squared_loss:  L = mean_s 1/2 |z_s - y_s|^2,                        dL/dz = (z - y) / samples
// Sums over samples are in double, in the order of the samples.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/learn/layers/layer.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

/// `outputs` (classes x samples) are overwritten with the gradient if `differentiate`.
template <class T>
double cross_entropy(View<T> outputs, const std::vector<std::int32_t>& labels, bool differentiate) {
  const Eigen::Index samples = outputs.cols();
  const T share = T(1) / static_cast<T>(samples);
  double sum = 0;
  for (Eigen::Index s = 0; s < samples; ++s) {
    auto column = outputs.col(s);
    const auto label = static_cast<Eigen::Index>(labels[static_cast<std::size_t>(s)]);
    const T largest = column.maxCoeff();  // taken out of the exponentials, so that none overflows
    const T mine = column[label] - largest;
    if (differentiate) {
      column.array() = (column.array() - largest).exp();
      const T total = column.sum();
      sum += std::log(static_cast<double>(total)) - static_cast<double>(mine);
      column *= share / total;
      column[label] -= share;
    } else {
      const T total = (column.array() - largest).exp().sum();
      sum += std::log(static_cast<double>(total)) - static_cast<double>(mine);
    }
  }
  return sum / static_cast<double>(samples);
}

/// `outputs` (targets x samples) are overwritten with the gradient if `differentiate`.
template <class T>
double squared_loss(View<T> outputs, const Matrix<T>& targets, bool differentiate) {
  const Eigen::Index samples = outputs.cols();
  outputs -= targets;
  double sum = 0;
  for (Eigen::Index s = 0; s < samples; ++s) sum += 0.5 * static_cast<double>(outputs.col(s).squaredNorm());
  if (differentiate) outputs *= T(1) / static_cast<T>(samples);
  return sum / static_cast<double>(samples);
}

/// Samples whose largest output (the first, if several) is that of their label. NaN is never correct.
template <class T>
std::int64_t correct_predictions(const ConstView<T>& outputs, const std::vector<std::int32_t>& labels) {
  std::int64_t correct = 0;
  for (Eigen::Index s = 0; s < outputs.cols(); ++s) {
    const T* column = outputs.data() + s * outputs.rows();
    Eigen::Index best = 0;
    for (Eigen::Index c = 1; c < outputs.rows(); ++c)
      if (column[c] > column[best]) best = c;
    correct += best == labels[static_cast<std::size_t>(s)] && !std::isnan(column[best]) ? 1 : 0;
  }
  return correct;
}

}  // namespace simsgd

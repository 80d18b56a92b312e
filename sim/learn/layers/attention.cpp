#include "sim/learn/layers/attention.hpp"

#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

// One head of one sequence: every `stride`-th run of head() numbers.
template <class T>
using HeadView = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstHeadView = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;

template <class Head, class T>
Head head_of(const AttentionShape& shape, T* sequence, std::int64_t which, std::int64_t head) {
  return Head(sequence + which * shape.width + head * shape.head(), shape.head(), shape.positions,
              Eigen::OuterStride<>(3 * shape.width));
}

template <class Head, class T>
Head joined_head(const AttentionShape& shape, T* sequence, std::int64_t head) {
  return Head(sequence + head * shape.head(), shape.head(), shape.positions,
              Eigen::OuterStride<>(shape.width));
}

template <class T>
T attention_scale(const AttentionShape& shape) {
  return T(1) / std::sqrt(static_cast<T>(shape.head()));
}

/// P of the head whose queries and keys these are.
template <class T>
void attend(const ConstHeadView<T>& query, const ConstHeadView<T>& key, T scale, View<T> probability) {
  probability.noalias() = key.transpose() * query;
  for (Eigen::Index j = 0; j < probability.cols(); ++j) {
    auto seen = probability.col(j).head(j + 1);
    const T largest = seen.maxCoeff();
    seen.array() = ((seen.array() - largest) * scale).exp();
    seen /= seen.sum();
    probability.col(j).tail(probability.rows() - j - 1).setZero();
  }
}

}  // namespace

template <class T>
void CausalAttention<T>::forward(const ForwardPass<T>& pass) const {
  const View<T> probability(pass.scratch, shape_.positions, shape_.positions);
  T* const output = View<T>(pass.output).data();
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const T* const sequence = pass.input.data() + s * inputs();
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const auto query = head_of<ConstHeadView<T>>(shape_, sequence, 0, h);
      const auto key = head_of<ConstHeadView<T>>(shape_, sequence, 1, h);
      attend<T>(query, key, attention_scale<T>(shape_), probability);
      joined_head<HeadView<T>>(shape_, output + s * outputs(), h).noalias() =
          head_of<ConstHeadView<T>>(shape_, sequence, 2, h) * probability;
    }
  }
}

template <class T>
void CausalAttention<T>::backward(const BackwardPass<T>& pass) const {
  const std::int64_t square = shape_.positions * shape_.positions;
  const View<T> probability(pass.scratch, shape_.positions, shape_.positions);
  View<T> change(pass.scratch + square, shape_.positions, shape_.positions);
  const T scale = attention_scale<T>(shape_);
  T* const leaving = View<T>(pass.input_gradient).data();
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const T* const sequence = pass.input.data() + s * inputs();
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const auto query = head_of<ConstHeadView<T>>(shape_, sequence, 0, h);
      const auto key = head_of<ConstHeadView<T>>(shape_, sequence, 1, h);
      const auto arriving =
          joined_head<ConstHeadView<T>>(shape_, pass.output_gradient.data() + s * outputs(), h);
      attend<T>(query, key, scale, probability);
      T* const to = leaving + s * inputs();
      head_of<HeadView<T>>(shape_, to, 2, h).noalias() = arriving * probability.transpose();
      change.noalias() = head_of<ConstHeadView<T>>(shape_, sequence, 2, h).transpose() * arriving;
      for (Eigen::Index j = 0; j < change.cols(); ++j) {
        const T mean = probability.col(j).dot(change.col(j));
        change.col(j).array() = (change.col(j).array() - mean) * probability.col(j).array() * scale;
      }
      head_of<HeadView<T>>(shape_, to, 0, h).noalias() = key * change;
      head_of<HeadView<T>>(shape_, to, 1, h).noalias() = query * change.transpose();
    }
  }
}

template class CausalAttention<Scalar>;

}  // namespace simsgd

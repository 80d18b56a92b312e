// What tests compile for double as well.
#include <algorithm>

#include "algorithms/kfac/kfac_math.hpp"
#include "sim/base/check.hpp"
#include "sim/learn/layers/layer.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

/// Calls `panel` with the first column and the number of columns of each.
template <class Function>
void for_each_panel(Eigen::Index dim, const Function& panel) {
  for (Eigen::Index begin = 0; begin < dim; begin += kFactorPanel)
    panel(begin, std::min(kFactorPanel, dim - begin));
}

}  // namespace

template <class T>
Matrix<T> unpack_symmetric(std::span<const T> packed, std::int64_t dim) {
  CHECK(packed.size() == triangle(static_cast<std::size_t>(dim)), "a triangle of another size");
  Matrix<T> full(dim, dim);
  const T* next = packed.data();
  for_each_panel(dim, [&](Eigen::Index begin, Eigen::Index size) {
    for (Eigen::Index j = begin; j < begin + size; ++j)
      for (Eigen::Index i = begin; i <= j; ++i) full(i, j) = full(j, i) = *next++;
    const Eigen::Map<const Matrix<T>> above(next, begin, size);
    full.block(0, begin, begin, size) = above;
    full.block(begin, 0, size, begin) = above.transpose();
    next += above.size();
  });
  return full;
}

template <class T>
void pack_upper(const Matrix<T>& matrix, std::span<T> packed) {
  CHECK(packed.size() == triangle(static_cast<std::size_t>(matrix.cols())), "a triangle of another size");
  T* next = packed.data();
  for_each_panel(matrix.cols(), [&](Eigen::Index begin, Eigen::Index size) {
    for (Eigen::Index j = begin; j < begin + size; ++j)
      next = std::copy_n(matrix.col(j).data() + begin, j - begin + 1, next);
    for (Eigen::Index j = begin; j < begin + size; ++j) next = std::copy_n(matrix.col(j).data(), begin, next);
  });
}

namespace {

// Appends the upper triangle of scale C C'. What is above a panel's corner is computed where it stays.
template <class T>
void append_products(const Matrix<T>& columns, T scale, std::vector<T>& packed) {
  Matrix<T> corner;
  for_each_panel(columns.rows(), [&](Eigen::Index begin, Eigen::Index size) {
    const auto own = columns.middleRows(begin, size);
    corner.setZero(size, size);
    corner.template selfadjointView<Eigen::Upper>().rankUpdate(own, scale);
    for (Eigen::Index j = 0; j < size; ++j)
      packed.insert(packed.end(), corner.col(j).data(), corner.col(j).data() + j + 1);
    if (begin == 0) return;
    const std::size_t at = packed.size();
    packed.resize(at + static_cast<std::size_t>(begin * size));  // of zeros
    Eigen::Map<Matrix<T>>(packed.data() + at, begin, size).noalias() +=
        scale * (columns.topRows(begin) * own.transpose());
  });
}

}  // namespace

template <class T>
void compute_factors(const FactorLayout& layout, const LayerTap<T>& tap, std::vector<T>& factors) {
  CHECK(tap.layers.size() == layout.layers.size(), "factors of another model");
  factors.reserve(factors.size() + layout.size);
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const LayerFactors& layer = layout.layers[l];
    const typename LayerTap<T>::Entry& entry = tap.layers[l];
    const auto columns = static_cast<T>(entry.input.cols());  // B S
    append_products(entry.input, T(1) / (columns * static_cast<T>(layer.layer.positions)), factors);
    append_products(entry.output_gradient, columns, factors);
  }
}

template void compute_factors(const FactorLayout&, const LayerTap<Scalar>&, std::vector<Scalar>&);
template Matrix<Scalar> unpack_symmetric(std::span<const Scalar>, std::int64_t);
template void pack_upper(const Matrix<Scalar>&, std::span<Scalar>);

}  // namespace simsgd

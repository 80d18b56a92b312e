// What tests compile for double as well.
#include <algorithm>

#include "algorithms/kfac/kfac_math.hpp"
#include "sim/base/check.hpp"
#include "sim/learn/layers/layer.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

template <class T>
Matrix<T> unpack_symmetric(std::span<const T> packed, std::int64_t dim) {
  CHECK(packed.size() == triangle(static_cast<std::size_t>(dim)), "a triangle of another size");
  Matrix<T> full(dim, dim);
  const T* next = packed.data();
  for (Eigen::Index j = 0; j < dim; ++j)
    for (Eigen::Index i = 0; i <= j; ++i) full(i, j) = full(j, i) = *next++;
  return full;
}

template <class T>
void pack_upper(const Matrix<T>& matrix, std::span<T> packed) {
  CHECK(packed.size() == triangle(static_cast<std::size_t>(matrix.cols())), "a triangle of another size");
  T* next = packed.data();
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) next = std::copy_n(matrix.col(j).data(), j + 1, next);
}

namespace {

// Appends the upper triangle of scale C C'.
template <class T>
void append_products(const Matrix<T>& columns, T scale, std::vector<T>& packed) {
  const Eigen::Index dim = columns.rows();
  Matrix<T> panel(dim, std::min(dim, kFactorPanel));
  for (Eigen::Index begin = 0; begin < dim; begin += kFactorPanel) {
    const Eigen::Index size = std::min(kFactorPanel, dim - begin);
    const auto own = columns.middleRows(begin, size);
    if (begin > 0)
      panel.topLeftCorner(begin, size).noalias() = scale * (columns.topRows(begin) * own.transpose());
    auto corner = panel.block(begin, 0, size, size);
    corner.setZero();
    corner.template selfadjointView<Eigen::Upper>().rankUpdate(own, scale);
    for (Eigen::Index j = 0; j < size; ++j) {
      const T* column = panel.col(j).data();
      packed.insert(packed.end(), column, column + begin + j + 1);
    }
  }
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

#include "algorithms/kfac/factors.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

FactorLayout factor_layout(const std::vector<LayerInfo>& layers) {
  FactorLayout layout;
  for (const LayerInfo& layer : layers) {
    if (layer.kind == LayerInfo::Kind::other) continue;
    LayerFactors factors;
    factors.layer = layer;
    factors.a_dim = layer.columns + (layer.bias ? 1 : 0);
    factors.g_dim = layer.rows;
    factors.a_offset = layout.size;
    factors.g_offset = factors.a_offset + triangle(static_cast<std::size_t>(factors.a_dim));
    layout.size = factors.g_offset + triangle(static_cast<std::size_t>(factors.g_dim));
    layout.layers.push_back(std::move(factors));
  }
  return layout;
}

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

template <class T>
void compute_factors(const FactorLayout& layout, const LayerTap<T>& tap, std::span<T> factors) {
  CHECK(tap.layers.size() == layout.layers.size() && factors.size() == layout.size,
        "factors of another model");
  const auto put = [&](const Matrix<T>& columns, T scale, std::size_t offset) {
    Matrix<T> product = Matrix<T>::Zero(columns.rows(), columns.rows());
    product.template selfadjointView<Eigen::Upper>().rankUpdate(columns, scale);
    pack_upper<T>(product, factors.subspan(offset, triangle(static_cast<std::size_t>(columns.rows()))));
  };
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const LayerFactors& layer = layout.layers[l];
    const typename LayerTap<T>::Entry& entry = tap.layers[l];
    const auto columns = static_cast<T>(entry.input.cols());  // B S
    put(entry.input, T(1) / (columns * static_cast<T>(layer.layer.positions)), layer.a_offset);
    put(entry.output_gradient, columns, layer.g_offset);
  }
}

std::size_t FactorStatistics::size(const Learner& learner) const {
  return factor_layout(learner.model().layers()).size;
}

void FactorStatistics::compute(const Learner& learner, const LayerTap<float>& tap,
                               std::span<float> out) const {
  compute_factors<float>(factor_layout(learner.model().layers()), tap, out);
}

template void compute_factors(const FactorLayout&, const LayerTap<float>&, std::span<float>);
template void compute_factors(const FactorLayout&, const LayerTap<double>&, std::span<double>);
template Matrix<float> unpack_symmetric(std::span<const float>, std::int64_t);
template Matrix<double> unpack_symmetric(std::span<const double>, std::int64_t);
template void pack_upper(const Matrix<float>&, std::span<float>);
template void pack_upper(const Matrix<double>&, std::span<double>);

}  // namespace simsgd

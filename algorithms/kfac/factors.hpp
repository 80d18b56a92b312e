// Kronecker factors: what K-FAC takes from a mini-batch, for every linear or convolutional layer. With B
// samples, S output positions (1 for a linear layer), inputs a (patches of the image for a convolution, with
// a 1 appended if the layer has a bias) and gradients g of the *mean* loss with respect to the outputs:
//   A = 1/(B S^2) sum a a',   G = B S sum g g',   sums over samples and positions
// Martens and Grosse, ICML 2015, arXiv:1503.05671 (linear); Grosse and Martens, ICML 2016, arXiv:1602.01407
// (convolutional), scaled as in the released code of SPD-KFAC (Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533).
// Checked against dense Fisher matrices and finite differences in tests/algorithms/kfac_factors.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/learn/gradient.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

/// Entries of the upper triangle of an n x n matrix, diagonal included. Packed column by column: entry (i,
/// j), i <= j, is at triangle(j) + i.
constexpr std::size_t triangle(std::size_t n) { return n * (n + 1) / 2; }

/// A layer with factors, and where their packed triangles lie in one flat vector.
struct LayerFactors {
  LayerInfo layer;
  std::int64_t a_dim = 0, g_dim = 0;
  std::size_t a_offset = 0, g_offset = 0;
};

/// The layers that have factors, in forward order: A and G of the first, A and G of the second, ...
struct FactorLayout {
  std::vector<LayerFactors> layers;
  std::size_t size = 0;  ///< of the flat vector
};
FactorLayout factor_layout(const std::vector<LayerInfo>& layers);

/// Fills the flat vector from what one backward pass tapped.
template <class T>
void compute_factors(const FactorLayout& layout, const LayerTap<T>& tap, std::span<T> factors);

/// Full symmetric matrix of a packed triangle, and back.
template <class T>
Matrix<T> unpack_symmetric(std::span<const T> packed, std::int64_t dim);
template <class T>
void pack_upper(const Matrix<T>& matrix, std::span<T> packed);

/// The flat vector of factors, from one pass over a mini-batch.
class FactorStatistics final : public LayerStatistics {
 public:
  std::size_t size(const Learner& learner) const override;
  void compute(const Learner& learner, const LayerTap<float>& tap, std::span<float> out) const override;
};

}  // namespace simsgd

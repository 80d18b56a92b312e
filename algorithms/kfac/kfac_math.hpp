// The numbers of K-FAC, apart from who computes what and when. For a layer with gradient W (outputs x inputs,
// the bias as last column) and factors A, G:
//   running average   A <- w A + (1 - w) A_new, from the identity; w the weight of the old factor
//   damping           plain: (A + gamma I)^-1, (G + gamma I)^-1
//                     pi: (A + pi sqrt(gamma) I)^-1, (G + sqrt(gamma)/pi I)^-1 with
//                     pi = sqrt((tr A / dim A) / (tr G / dim G))
//   preconditioning   V = (G + ..)^-1 W (A + ..)^-1
//   clip              all V times nu = min(1, sqrt(kappa / |sum over layers and entries of V W eta^2|))
// Martens and Grosse, ICML 2015, arXiv:1503.05671 (sections 3, 6.3, 6.5); the clip and the weight 0.05 of the
// old factor as in the released code of SPD-KFAC, arXiv:2107.06533. Damping never enters the stored factors.
// Empty handles in, empty handles out. Test: tests/algorithms/kfac_math.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/learn/gradient.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/tensor.hpp"

namespace simsgd {

// Kronecker factors: what K-FAC takes from a mini-batch, for every linear or convolutional layer. With B
// samples, S output positions (1 for a linear layer), inputs a (patches of the image for a convolution, with
// a 1 appended if the layer has a bias) and gradients g of the *mean* loss with respect to the outputs:
//   A = 1/(B S^2) sum a a',   G = B S sum g g',   sums over samples and positions
// Martens and Grosse, ICML 2015, arXiv:1503.05671 (linear); Grosse and Martens, ICML 2016, arXiv:1602.01407
// (convolutional), scaled as in the released code of SPD-KFAC (Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533).
// Checked against dense Fisher matrices and finite differences in tests/algorithms/kfac_math.cpp.

/// Columns of a factor that are computed together.
constexpr std::int64_t kFactorPanel = 128;

/// Entries of the upper triangle of an n x n matrix, diagonal included. Packed panel by panel: of each first
/// the upper triangle of the square on the diagonal, column by column, then the rectangle above it, likewise.
constexpr std::size_t triangle(std::size_t n) { return n * (n + 1) / 2; }
/// Where the entry (j, j) is in it.
constexpr std::size_t packed_diagonal(std::size_t j) {
  const std::size_t place = j % kFactorPanel;
  return triangle(j - place) + triangle(place) + place;
}

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

/// Appends the flat vector, from what one backward pass tapped.
template <class T>
void compute_factors(const FactorLayout& layout, const LayerTap<T>& tap, std::vector<T>& factors);

/// Full symmetric matrix of a packed triangle, and back.
template <class T>
Matrix<T> unpack_symmetric(std::span<const T> packed, std::int64_t dim);
template <class T>
void pack_upper(const Matrix<T>& matrix, std::span<T> packed);

/// The flat vector of factors, from one pass over a mini-batch.
class FactorStatistics final : public LayerStatistics {
 public:
  void compute(const Learner& learner, const LayerTap<float>& tap, std::vector<float>& out) const override;
};

struct KfacMath {
  double damping = 0.002;  ///< gamma
  bool split_by_pi = false;
  double old_weight = 0.05;  ///< w
  double kl_clip = 0.001;    ///< kappa; 0: no clip
};

/// The factors of one layer, packed.
struct FactorPair {
  Tensor a, g;
};

/// `old` may be empty: the identity.
FactorPair average_factors(Executor& executor, const LayerFactors& layer, const FactorPair& old,
                           const FactorPair& fresh, double old_weight);

/// The inverse of the damped A (or G), packed. Its computation throws RunError where there is none, naming
/// the layer and `step`.
Tensor inverse_a(Executor& executor, const LayerFactors& layer, const FactorPair& factors,
                 const KfacMath& math, std::uint64_t step);
Tensor inverse_g(Executor& executor, const LayerFactors& layer, const FactorPair& factors,
                 const KfacMath& math, std::uint64_t step);

/// V of one layer, g_dim x a_dim numbers column by column, of the whole gradient.
Tensor preconditioned_layer(Executor& executor, const LayerFactors& layer, const Tensor& gradient,
                            const FactorPair& inverses);
/// The whole gradient with these V, by layer of `layout`, in place of its own, clipped.
Tensor clipped_direction(Executor& executor, const FactorLayout& layout, const Tensor& gradient,
                         const std::vector<Tensor>& preconditioned, double learning_rate, double kl_clip);
/// Both: the whole gradient with the layers of `layout` preconditioned and clipped; other parameters as they
/// are. `inverses` by layer.
Tensor precondition(Executor& executor, const FactorLayout& layout, const Tensor& gradient,
                    const std::vector<FactorPair>& inverses, double learning_rate, double kl_clip);

}  // namespace simsgd

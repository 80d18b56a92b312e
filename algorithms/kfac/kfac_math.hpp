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
#include <string>
#include <vector>

#include "algorithms/kfac/factors.hpp"
#include "sim/learn/tensor.hpp"

namespace simsgd {

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

/// The whole gradient with the layers of `layout` preconditioned and clipped; other parameters as they are.
/// `inverses` by layer.
Tensor precondition(Executor& executor, const FactorLayout& layout, const Tensor& gradient,
                    const std::vector<FactorPair>& inverses, double learning_rate, double kl_clip);

}  // namespace simsgd

// Low-rank factors of gradients: which tensors are matrices, and the four operations on them, on the numeric
// plane. A flat vector of left factors holds P (rows x r, column-major) of every matrix in order, and then
// all vectors as they are; one of right factors holds Q (columns x r) of every matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/plugin.hpp"

namespace simsgd {

/// A matrix of the learner, as a slice of its flat parameter vector: rows x columns, column-major.
struct LearnedMatrix {
  std::size_t offset = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t rank = 1;  ///< of its factors: as asked for, rows and columns at most
};

struct LowRankLayout {
  std::int64_t rank = 1;               ///< that was asked for
  std::vector<LearnedMatrix> learned;  ///< in order; empty without a learner
  std::size_t parameters = 0;          ///< of the learner
};
/// Throws ParameterError if the model has no matrix to compress.
LowRankLayout low_rank_layout(int rank, const Workload& workload, const Learner* learner);

/// Of one step, of the workload on the cluster's device (sim/cluster/kernels.hpp); no times without a
/// cluster.
struct LowRankCosts {
  double left_numbers = 0, right_numbers = 0;  ///< the vectors are among the left ones
  double left_bytes = 0, right_bytes = 0;      ///< in messages
  double product_s = 0;                        ///< one of the three products, all matrices
  double qr_s = 0;                             ///< all matrices
  double residual_s = 0;                       ///< the residual of all matrices: a pass
};
LowRankCosts low_rank_costs(int rank, const AlgorithmContext& context);

/// Standard normal numbers that depend on the seed alone.
Tensor random_right(Executor& executor, const LowRankLayout& layout, std::uint64_t seed);
Tensor times_right(Executor& executor, const LowRankLayout& layout, const Tensor& sum, const Tensor& right);
/// Q of thin QR of every P; the vectors stay.
Tensor orthonormal(Executor& executor, const LowRankLayout& layout, const Tensor& left);
Tensor times_left(Executor& executor, const LowRankLayout& layout, const Tensor& sum, const Tensor& left);
/// P Q' of every matrix, and the vectors, as a flat gradient.
Tensor product(Executor& executor, const LowRankLayout& layout, const Tensor& left, const Tensor& right);
/// sum - update in the matrices, 0 in the vectors.
Tensor residual_after(Executor& executor, const LowRankLayout& layout, const Tensor& sum,
                      const Tensor& update);

}  // namespace simsgd

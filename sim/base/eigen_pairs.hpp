// Eigenvalues of symmetric matrices, by Eigen, whose solver is compiled in one source: that takes seconds.
// Dense: about a second for 1,024 rows. Ascending; column k of `vectors` belongs to value k.
#pragma once

#include <Eigen/Core>

namespace simsgd {

struct EigenPairs {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
EigenPairs eigen_pairs(const Eigen::MatrixXd& symmetric);

/// Without the vectors, in a fraction of the time.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& symmetric);

}  // namespace simsgd

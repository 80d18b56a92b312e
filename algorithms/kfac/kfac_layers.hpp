// The layers that K-FAC has factors for: in the workload, where their dimensions cost time, and in the
// learner, where their values are. A learner's layer travels with one of the workload's: with the layer of
// the same place, as a share of all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algorithms/kfac/factors.hpp"
#include "sim/learn/learner.hpp"
#include "sim/workload.hpp"

namespace simsgd {

/// A factor of the workload: A or G of one of its layers.
struct WorkloadFactor {
  int layer = 0;  ///< of Workload::layers
  bool is_a = true;
  int dim = 0;
  double positions = 1;   ///< output height x width of the layer
  std::string name = {};  ///< "A conv1"

  double elements() const { return 0.5 * dim * (dim + 1.0); }  ///< of its upper triangle
};

/// The workload's layers with factors, in forward order. Layer k of them has the factors 2k (A) and 2k + 1
/// (G).
struct KfacLayers {
  std::vector<WorkloadFactor> factors;
  std::vector<std::size_t> ready_at;  ///< of each layer, the last of its places in Workload::tensors

  std::size_t count() const { return factors.size() / 2; }
  const WorkloadFactor& a(std::size_t k) const { return factors[2 * k]; }
  const WorkloadFactor& g(std::size_t k) const { return factors[2 * k + 1]; }
};
/// Linear and convolutional layers whose first tensor is a matrix, rows x columns: G has `rows` rows, A as
/// many as `columns`, and one more where a bias, a vector of `rows` numbers, stands beside it.
KfacLayers kfac_layers(const Workload& workload);

/// The learner's layers with factors, and with which of the workload's each of them travels.
struct LearnedLayers {
  FactorLayout layout;                       ///< empty without a learner
  std::vector<std::vector<std::size_t>> of;  ///< by layer of the workload: layers of `layout`
};
/// `count` layers of the workload; `learner` may be null.
LearnedLayers learned_layers(const Learner* learner, std::size_t count);

}  // namespace simsgd

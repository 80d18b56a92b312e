// What K-FAC computes, as kernels of a device (sim/cluster/kernels.hpp) at nominal speed:
//   factor of dimension n   gemm n x n x B HW, and gemm.gather; B samples, HW positions
//   inverse of dimension n  invert n
//   preconditioning         gemm g x a x g and g x a x a of each layer
// Sources of the numbers: the device file. Test: tests/algorithms/kfac_costs.cpp.
#pragma once

#include <vector>

#include "algorithms/kfac/kfac_layers.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd {

/// The product that a factor is made by; and the two of each layer that precondition its gradient D, g x a:
/// G^-1 D A^-1.
GemmSize factor_product(double samples, const WorkloadFactor& factor);
std::vector<GemmSize> precondition_products(const KfacLayers& layers);

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor);

struct KfacCosts {
  std::vector<double> factor_s;   ///< by factor of the workload
  std::vector<double> inverse_s;  ///< likewise
  double precondition_s = 0;      ///< of all layers
  std::vector<double> speed;      ///< by rank; empty: all 1

  /// How many times as long as these the rank takes.
  double slower(int rank) const { return speed.empty() ? 1 : 1 / speed[static_cast<std::size_t>(rank)]; }
};

/// All 0 without a cluster. Throws ParameterError where the device says nothing that a time could be had
/// from.
KfacCosts kfac_costs(const Cluster* cluster, const Workload& workload, const KfacLayers& layers);

}  // namespace simsgd

// What K-FAC computes, as time on a device (sim/cluster: GemmKernel, InverseKernel), at nominal speed:
//   factor of dimension n   2 B HW n^2 flop / (peak x gemm efficiency) + overhead, B samples, HW positions
//   inverse of dimension n  measured kernel times, interpolated on log-log scales, + overhead per matrix;
//                           without measurements n^3 flop (Cholesky n^3/3, inversion 2 n^3/3) / (peak x
//                           efficiency)
//   preconditioning         2 a g (a + g) flop of each layer's two products, at the efficiency of factors
// Sources of the numbers: the cluster file. Test: tests/algorithms/kfac_costs.cpp.
#pragma once

#include <vector>

#include "algorithms/kfac/kfac_layers.hpp"
#include "sim/cluster/cluster.hpp"

namespace simsgd {

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor);
double inverse_time_s(const Device& device, int dim);

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

#include "algorithms/kfac/kfac_costs.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/reject.hpp"

namespace simsgd {

namespace {

double gemm_s(const Device& device, double flop) {
  const double efficiency = device.gemm.efficiency.value_or(device.efficiency);
  return flop / (device.peak_flops * efficiency);
}

/// Through the two measurements around `dim`, or the two nearest; a single one holds for all.
double interpolated_s(const std::vector<InverseKernel::Time>& table, double dim) {
  if (table.size() == 1) return table.front().seconds;
  auto above = std::find_if(table.begin() + 1, table.end() - 1,
                            [dim](const InverseKernel::Time& row) { return dim <= row.dimension; });
  const InverseKernel::Time &low = *(above - 1), &high = *above;
  const double low_dim = low.dimension, high_dim = high.dimension;
  const double place = std::log(dim / low_dim) / std::log(high_dim / low_dim);
  return low.seconds * std::pow(high.seconds / low.seconds, place);
}

double precondition_time_s(const Device& device, const KfacLayers& layers) {
  double flop = 0;
  for (std::size_t k = 0; k < layers.count(); ++k) {
    const double a = layers.a(k).dim, g = layers.g(k).dim;
    flop += 2 * a * g * (a + g);
  }
  return gemm_s(device, flop);
}

}  // namespace

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor) {
  return gemm_s(device, 2 * samples * factor.positions * factor.dim * factor.dim) + device.gemm.gather_s;
}

double inverse_time_s(const Device& device, int dim) {
  const double n = dim;
  const double kernel_s = device.inverse.times.empty() ? n * n * n / (device.peak_flops * device.efficiency)
                                                       : interpolated_s(device.inverse.times, n);
  return kernel_s + device.inverse.overhead_s;
}

KfacCosts kfac_costs(const Cluster* cluster, const Workload& workload, const KfacLayers& layers) {
  KfacCosts costs;
  costs.factor_s.assign(layers.factors.size(), 0.0);
  costs.inverse_s.assign(layers.factors.size(), 0.0);
  if (cluster == nullptr) return costs;
  const Device& device = cluster->device;
  if (!(device.peak_flops > 0))
    reject("name", "cannot be timed: the device \"" + device.name + "\" has no peak_flops",
           "Give /cluster/device/peak_flops, from which factors and inverses are timed");
  for (std::size_t f = 0; f < layers.factors.size(); ++f) {
    costs.factor_s[f] = factor_time_s(device, workload.batch, layers.factors[f]);
    costs.inverse_s[f] = inverse_time_s(device, layers.factors[f].dim);
  }
  costs.precondition_s = precondition_time_s(device, layers);
  for (int rank = 0; rank < cluster->workers(); ++rank) costs.speed.push_back(cluster->speed_of_rank(rank));
  return costs;
}

}  // namespace simsgd

#include "algorithms/kfac/kfac_costs.hpp"

#include "sim/base/reject.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd {

namespace {

/// G^-1 D A^-1 of each layer's gradient D, g x a.
double precondition_time_s(const Device& device, const KfacLayers& layers) {
  double seconds = 0;
  for (std::size_t k = 0; k < layers.count(); ++k) {
    const double a = layers.a(k).dim, g = layers.g(k).dim;
    seconds += gemm_s(device, {.m = g, .n = a, .k = g}) + gemm_s(device, {.m = g, .n = a, .k = a});
  }
  return seconds;
}

}  // namespace

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor) {
  const double n = factor.dim;
  return gemm_s(device, {.m = n, .n = n, .k = samples * factor.positions}) + device.gemm.gather_s;
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
    costs.inverse_s[f] = invert_s(device, layers.factors[f].dim);
  }
  costs.precondition_s = precondition_time_s(device, layers);
  for (int rank = 0; rank < cluster->workers(); ++rank) costs.speed.push_back(cluster->speed_of_rank(rank));
  return costs;
}

}  // namespace simsgd

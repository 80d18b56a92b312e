#include "algorithms/kfac/kfac_costs.hpp"

#include "sim/base/reject.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd {

GemmSize factor_product(double samples, const WorkloadFactor& factor) {
  const double n = factor.dim;
  return {.m = n, .n = n, .k = samples * factor.positions};
}

std::vector<GemmSize> precondition_products(const KfacLayers& layers) {
  std::vector<GemmSize> all;
  for (std::size_t k = 0; k < layers.count(); ++k) {
    const double a = layers.a(k).dim, g = layers.g(k).dim;
    all.push_back({.m = g, .n = a, .k = g});
    all.push_back({.m = g, .n = a, .k = a});
  }
  return all;
}

double factor_time_s(const Device& device, double samples, const WorkloadFactor& factor) {
  return gemm_s(device, factor_product(samples, factor)) + device.gemm.gather_s;
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
  const std::vector<GemmSize> products = precondition_products(layers);
  for (std::size_t k = 0; k < products.size(); k += 2)
    costs.precondition_s += gemm_s(device, products[k]) + gemm_s(device, products[k + 1]);
  for (int rank = 0; rank < cluster->workers(); ++rank) costs.speed.push_back(cluster->speed_of_rank(rank));
  return costs;
}

}  // namespace simsgd

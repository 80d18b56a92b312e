// What a worker of SPD-KFAC computes in a step before it has the mean gradient and factors, and what it sends
// meanwhile.
#pragma once

#include <vector>

#include "algorithms/kfac/kfac_setup.hpp"

namespace simsgd::bench {

/// Computing, and then an all-reduce of these, if there are any.
struct BarePiece {
  double work_s = 0, bytes = 0;
  int tensors = 0;
};

/// In buckets of 64 MiB, and factors in groups.
std::vector<BarePiece> bare_passes(const Workload& workload, const KfacLayers& layers,
                                   const KfacCosts& costs);

}  // namespace simsgd::bench

// Which factors travel together. Messages become ready one after another while computing goes on; merging
// neighbours saves latency, waiting for a neighbour costs overlap.
//   dynamic: with ready times r_l and t(n) = latency + n per_element, start_0 = r_0 and start_l =
//   max(start_{l-1}
//   + t_{l-1}, r_l), factor l + 1 joins the group of l if it is ready before that group's message would end,
//   and either before it could start or within one latency of its start; then the start is that of the larger
//   group. Shi, Zhang, Li, "Accelerating distributed K-FAC with smart parallelism of computing and
//   communication tasks", ICDCS 2021, arXiv:2107.06533, section V.
// Test: tests/algorithms/kfac_fusion.cpp.
#pragma once

#include <string>
#include <vector>

namespace simsgd {

/// Predicted time of an all-reduce of n elements: latency_s + n per_element_s.
struct FusionCost {
  double latency_s = 0;
  double per_element_s = 0;
};

/// A factor to be sent, in the order in which factors become ready.
struct ReadyFactor {
  double ready_s = 0;
  double elements = 0;
};

/// Sizes of consecutive groups; they sum to the number of factors.
using FactorGroups = std::vector<std::size_t>;

FactorGroups separate_groups(std::size_t count);
/// A group is complete as soon as it holds `elements`.
FactorGroups groups_by_threshold(const std::vector<ReadyFactor>& factors, double elements);
FactorGroups dynamic_groups(const std::vector<ReadyFactor>& factors, const FusionCost& cost);

}  // namespace simsgd
